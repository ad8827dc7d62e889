"""The quotas of clients that are in force, and the meters of every client that has one.

`Broker.enforcement` is None while no client has a quota: that is all that a request without quotas
costs. A connection keeps the meters of the client id that it used last; they are looked up again
when quotas change, and when its user does.

Threads: the loop.

Source: Kafka `QuotaFactory`, `ClientQuotaManager`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.broker.quotas.charge import Charge, Client, Connection
from duolog.broker.quotas.entities import FETCH, MUTATION, PRODUCE, REQUEST, Quotas
from duolog.broker.quotas.meters import Clients, Meters, MutationMeter, RateMeter
from duolog.broker.quotas.rate import Windows
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings
    from duolog.core.clock import Clock

_CLIENT_ID: Final = 8
"""Position of the client id's length in a request."""
_TEXT: Final = 10


def windows_of(settings: "BrokerSettings", prefix: str = "") -> Windows:
    """Read the windows of rates, or with the prefix `controller.` those of tokens."""
    return Windows(
        settings.integer(f"{prefix}quota.window.num"),
        settings.integer(f"{prefix}quota.window.size.seconds") * SECOND_MS,
    )


class Enforcement:
    """The meters of all clients."""

    def __init__(self, settings: "BrokerSettings", clock: "Clock") -> None:
        self.clock: Final = clock
        self.epoch = 0
        """Grows when the meters of any client may be others than before."""
        windows = windows_of(settings)

        def rate_meter(clients: Clients, limit: float) -> RateMeter:
            return RateMeter(clients, limit, windows)

        def request_meter(clients: Clients, limit: float) -> RateMeter:
            # At most one window, so that members of groups are heard in time.
            return RateMeter(clients, limit, windows, throttle_ms_max=windows.window_ms)

        mutation_meter = partial(MutationMeter, windows=windows_of(settings, "controller."))
        self.produce: Final = Meters(PRODUCE, rate_meter, self._look_up_again)
        self.fetch: Final = Meters(FETCH, rate_meter, self._look_up_again)
        self.request: Final = Meters(REQUEST, request_meter, self._look_up_again)
        self.mutation: Final = Meters[MutationMeter](MUTATION, mutation_meter, self._look_up_again)

    def update(self, quotas: Quotas) -> bool:
        """Use these quotas from now on; return whether any client may have one."""
        every = (self.produce, self.fetch, self.request, self.mutation)
        for meters in every:
            meters.update(quotas)
        self._look_up_again()
        return any(every)

    def charge_frame(self, connection: Connection, frame: memoryview) -> Charge:
        """Begin the account of a request, given as its bytes."""
        client = connection.metered
        if (
            client is None
            or client.epoch != self.epoch
            or client.identity is not connection.identity
            or frame[_CLIENT_ID : _CLIENT_ID + len(client.head)] != client.head
        ):
            size = max(0, int.from_bytes(frame[_CLIENT_ID:_TEXT], signed=True))
            head = bytes(frame[_CLIENT_ID : _TEXT + size])
            client = self._client(connection, head, head[2:].decode("utf-8", "replace"))
        return Charge(self, connection, client)

    def charge(self, connection: Connection, client_id: str) -> Charge:
        """Begin the account of a request with this client id."""
        client = connection.metered
        if (
            client is None
            or client.epoch != self.epoch
            or client.identity is not connection.identity
            or client.client_id != client_id
        ):
            text = client_id.encode()
            client = self._client(connection, len(text).to_bytes(2) + text, client_id)
        return Charge(self, connection, client)

    def refresh(self, client: Client) -> None:
        """Look up the meters of a client, if they may be others by now."""
        if client.epoch == self.epoch:
            return
        now_ms = int(self.clock.monotonic() * SECOND_MS)
        who = client.identity.principal.name, client.client_id
        client.produce = self.produce.find(*who, now_ms)
        client.fetch = self.fetch.find(*who, now_ms)
        client.request = self.request.find(*who, now_ms)
        client.mutation = self.mutation.find(*who, now_ms)
        # Now: looking up may have dropped unused meters, of others.
        client.epoch = self.epoch

    def _client(self, connection: Connection, head: bytes, client_id: str) -> Client:
        client = connection.metered = Client(connection.identity, client_id, head)
        self.refresh(client)
        return client

    def _look_up_again(self) -> None:
        self.epoch += 1
