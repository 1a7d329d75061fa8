class Hub:
    def __init__(self,*a): pass
    def open(self,a): raise NotImplementedError
    def frame(self,*a): return []
    def hangup(self,*a): pass
    def publish(self,ev): return []
    def fire(self,t,e): return False
    def close_all(self,c,m): return []
    def close(self,*a): return []
    def describe(self): return []
