# syntax=docker/dockerfile:1
# The sandbox in a container: docs/how-to/run-in-a-container.md
#   docker build --tag sandbox-exchange .
ARG BASE=python:3.12.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml requirements.lock ./
COPY .ci/locked.py .ci/
RUN python .ci/locked.py runtime > runtime.lock && python .ci/locked.py build > build.lock
RUN python -m venv /opt/sim
RUN /opt/sim/bin/python -m pip install --no-cache-dir --no-deps --require-hashes --requirement runtime.lock
RUN python -m venv /opt/build
RUN /opt/build/bin/python -m pip install --no-cache-dir --no-deps --require-hashes --requirement build.lock
COPY . .
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /opt/wheels .
RUN /opt/sim/bin/python -m pip install --no-cache-dir --no-deps --no-index /opt/wheels/*.whl
RUN /opt/sim/bin/python -m pip uninstall --yes pip
# Builders round the times of files, and bytecode that goes by time would be compiled at each start.
RUN /opt/sim/bin/python -m compileall -q -f --invalidation-mode unchecked-hash /opt/sim

FROM ${BASE}
COPY --from=build /opt/sim /opt/sim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin sim
RUN install --directory --owner=10001 --group=10001 --mode=700 /run/sim
# Ready file and control token stand on the volume, for clients that may read them. Whatever else
# `sim serve` takes comes from the environment too: SIM_SCENARIO, SIM_SEED, SIM_PUBLIC_HOST, …
ENV PATH=/opt/sim/bin:$PATH SIM_HOST=0.0.0.0 SIM_READY_FILE=/run/sim/ready.json
VOLUME /run/sim
WORKDIR /run/sim
EXPOSE 18080-18086
USER 10001
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s --retries=3 CMD ["python", "-m", "sim.server.healthcheck"]
ENTRYPOINT ["sim"]
CMD ["serve"]
