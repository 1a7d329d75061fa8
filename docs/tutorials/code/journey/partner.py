"""The client of a partner firm: token, verification, webhook, order, drop copy."""

import base64
import hmac
import json
import time
import uuid

import grpc
import jwt
import requests
from stubs import request_type, response_type


class Partner:
    """A firm that acts for one participant."""

    def __init__(self, addresses, firm):
        self.addresses, self.firm = addresses, firm
        self.participant = ""
        self.token, self.refresh_at = "", 0.0

    # ---- token (private_key_jwt)

    def bearer(self):
        """Return an access token. Request a new one 30 seconds before the old one expires."""
        if time.monotonic() >= self.refresh_at:
            answer = requests.post(
                f"{self.addresses['auth']}/oauth/token",
                data={
                    "grant_type": "client_credentials",
                    "client_id": self.firm["client_id"],
                    "client_assertion_type": (
                        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
                    ),
                    "client_assertion": self.assertion(),
                    "audience": self.firm["audience"],
                },
                timeout=5,
            )
            answer.raise_for_status()
            self.token = answer.json()["access_token"]
            self.refresh_at = time.monotonic() + answer.json()["expires_in"] - 30
        return self.token

    def assertion(self):
        now = int(time.time())
        claims = {
            "iss": self.firm["client_id"],
            "sub": self.firm["client_id"],
            "aud": self.firm["audience"],
            "iat": now,
            "exp": now + 240,
            "jti": str(uuid.uuid4()),
        }
        with open(self.firm["private_key_path"], "rb") as key:
            return jwt.encode(claims, key.read(), algorithm="RS256")

    def headers(self):
        headers = {"authorization": f"Bearer {self.bearer()}"}
        return headers | ({"x-participant-id": self.participant} if self.participant else {})

    # ---- REST

    def call(self, verb, path, **options):
        answer = requests.request(
            verb, self.addresses["exchange"] + path, headers=self.headers(), timeout=5, **options
        )
        if answer.status_code >= 400:
            raise RuntimeError(f"{verb} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def register_webhook(self, url, secret):
        body = {"webhook_url": url, "signing_secret": secret}
        answer = self.call("POST", "/v1/kyc/webhook", json=body)
        if not answer["validated"]:  # the status is 200, but the service did not save the URL
            raise RuntimeError(f"webhook {url}: {answer['message']}")

    def start_verification(self, person):
        return self.call("POST", "/v1/kyc/start", json=person)["status"]["decision"]

    def verification(self, external_id):
        return self.call("GET", f"/v1/kyc/status?external_id={external_id}")

    def buy(self, account, symbol, contracts, dollars):
        """Place a limit order. Read the scales first: they differ between instruments."""
        instrument = self.call("GET", f"/v1/refdata/instruments/{symbol}")["instrument"]
        return self.call(
            "POST",
            "/v1/trading/orders",
            json={
                "type": "ORDER_TYPE_LIMIT",
                "side": "SIDE_BUY",
                "symbol": symbol,
                "account": account,
                "clordId": str(uuid.uuid4()),
                "orderQty": str(contracts * max(1, int(instrument["fractionalQtyScale"]))),
                "price": str(round(dollars * int(instrument["priceScale"]))),
                "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            },
        )["orderId"]

    # ---- gRPC

    def unary(self, operation, **fields):
        with grpc.insecure_channel(self.addresses["grpc"]) as channel:
            method = channel.unary_unary(
                f"/{operation}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=response_type(operation).FromString,
            )
            request = request_type(operation)(**fields)
            return method(request, metadata=tuple(self.headers().items()), timeout=5)

    def drop_copy(self, resume_token=b""):
        return DropCopy(self, resume_token)


class DropCopy:
    """The stream of the firm's executions. It continues after the message of `resume_token`."""

    OPERATION = "exchange.v1.DropCopyAPI/CreateDropCopySubscription"

    def __init__(self, partner, resume_token):
        self.resume_token = resume_token
        self.channel = grpc.insecure_channel(partner.addresses["grpc"])
        method = self.channel.unary_stream(
            f"/{self.OPERATION}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response_type(self.OPERATION).FromString,
        )
        request = request_type(self.OPERATION)(resume_token=resume_token)
        self.stream = method(request, metadata=tuple(partner.headers().items()), timeout=10)
        self.stream.initial_metadata()  # wait until the stream is open

    def __iter__(self):
        for message in self.stream:
            self.resume_token = message.resume_token
            yield from message.executions  # a heartbeat has none

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stream.cancel()
        self.channel.close()


class WebhookHandler:
    """Verify and store webhook deliveries. `handle` returns the HTTP status of your answer."""

    def __init__(self, secret):
        self.secret = secret
        self.observed = set()
        self.participants = {}

    def handle(self, headers, body):
        if not self.verified(headers, body):
            return 401
        event = json.loads(body)
        if event["event_id"] not in self.observed:  # delivery is at least once
            self.observed.add(event["event_id"])
            if event["type"] == "kyc.approved":
                self.participants[event["external_id"]] = event["participant_id"]
        return 204

    def verified(self, headers, body):
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        signatures = (part.partition(",")[2] for part in headers["webhook-signature"].split())
        return any(hmac.compare_digest(expected, signature) for signature in signatures)
