/** A front door for the relay of a test: no console, no API behind it. */
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import type { Relay } from '../../server/relay/relay.ts';

export const openRelayDoor = (relay: Relay): HttpServer =>
  openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
  });
