/**
 * Messages that nodes send each other at once, over NOTIFY on a connection of its own: never in a transaction that settles.
 * Behind a pooler that lends connections by the transaction nothing arrives, so each message is also stored for some seconds:
 * a node that does not receive its own messages reads them there.
 */
import { Client } from 'pg';
import type { PostgresPlace } from '../place.ts';
import { cutConnection, readAsLibpq } from './open.ts';

export interface Wire {
  /** Sends to every node, this one included. Lost while the database is away. */
  send(text: string): void;
  /** Whether messages arrive over the connection, without polling. */
  isListening(): boolean;
  close(): void;
}

export interface WireDeps {
  /** A text that some node has sent, this node's own among them; each is different. */
  readonly receive: (text: string) => void;
  /** Sends over another connection, as other nodes do. */
  readonly notify: (channel: string, text: string) => Promise<void>;
  /** The connection stopped or started receiving. */
  readonly changed: (isListening: boolean) => void;
  /** Unique name of the self-check channel. */
  readonly name: string;
}

const channel = 'gateway_nodes';
const againMs = 500;
const connectWithinMs = 5000;
const pingMs = 5000;
const answerWithinMs = 5000;
/** A notification arrives within this time or never. */
const timeoutMs = 2000;
/** Between two self-checks. */
const checkMs = 10_000;
/** Up to this many unanswered checks are not reported. */
const maxMisses = 2;
const readMs = 250;

const recent = "clock_timestamp() - interval '5 s'";
const written = `SELECT text FROM node_messages WHERE at > ${recent}`;
/** A heartbeat that also deletes messages that are no longer read. */
const ping = `DELETE FROM node_messages WHERE at <= ${recent}`;
const notifyQuery = 'WITH kept AS (INSERT INTO node_messages (text) VALUES ($2)) SELECT pg_notify($1, $2)';

/** Connects by itself, again and again. */
export function openWire(place: PostgresPlace, { receive, ...deps }: WireDeps): Wire {
  const isNew = createSeen();
  const selfCheck = createSelfCheck(deps);
  const received = (text: string) => {
    if (isNew(text)) receive(text);
  };
  const reader = createReader(received, isNew);
  let client: Client | null = null;
  let closed = false;
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const after = (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!closed) work();
    }, ms);
    timers.add(timer);
  };
  const check = async (on: Client): Promise<void> => {
    const again = await selfCheck.check(() => client === on);
    if (client === on) after(again, () => void check(on));
  };

  const connect = async () => {
    const fresh = new Client({
      connectionString: readAsLibpq(place.direct ?? place.url),
      connectionTimeoutMillis: connectWithinMs,
      keepAlive: true,
      application_name: 'gateway wire',
    });
    let ended = false;
    const lost = () => {
      if (ended) return;
      ended = true;
      if (client === fresh) client = null;
      selfCheck.lost();
      fresh.end().catch(() => undefined);
      if (!closed) after(againMs, () => void connect());
    };
    fresh.on('error', lost);
    fresh.on('end', lost);
    fresh.on('notification', (notice) => {
      if (notice.channel === selfCheck.channel) selfCheck.onReceived();
      else received(notice.payload ?? '');
    });
    try {
      await fresh.connect();
      for (const one of [channel, selfCheck.channel]) await fresh.query(`LISTEN "${one}"`);
      if (closed) return lost();
      client = fresh;
      void check(fresh);
    } catch {
      lost();
    }
  };
  void connect();
  // A dead connection does not report itself.
  const pings = setInterval(() => {
    const pinged = client;
    if (pinged === null) return;
    const limit = setTimeout(() => cutConnection(pinged), answerWithinMs);
    pinged.query(ping).then(
      () => clearTimeout(limit),
      () => clearTimeout(limit),
    );
  }, pingMs);
  const readings = setInterval(() => {
    if (selfCheck.isListening()) reader.rest();
    else if (client !== null) void reader.read(client);
  }, readMs);

  return {
    send(text) {
      client?.query(notifyQuery, [channel, text]).catch(() => undefined);
    },
    isListening: selfCheck.isListening,
    close() {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      clearInterval(pings);
      clearInterval(readings);
      client?.end().catch(() => undefined);
    },
  };
}

/** Checks whether notifications arrive. */
function createSelfCheck({ notify, changed, name }: Omit<WireDeps, 'receive'>) {
  const own = `gateway_wire_${name}`;
  let isListening = false;
  /** Consecutive checks that did not arrive. */
  let misses = 0;
  let received: () => void = () => undefined;
  const judge = (arrives: boolean) => {
    if (arrives && misses >= maxMisses) changed(true);
    misses = arrives ? 0 : misses + 1;
    if (misses === maxMisses) changed(false);
    isListening = arrives;
  };
  return {
    channel: own,
    isListening: () => isListening,
    onReceived: () => received(),
    lost() {
      isListening = false;
    },
    /** @param holds the listening connection is the same as before. @returns milliseconds until the next check. */
    async check(holds: () => boolean): Promise<number> {
      const self = Promise.withResolvers<boolean>();
      received = () => self.resolve(true);
      const sent = await notify(own, '').then(
        () => true,
        () => false,
      );
      const limit = setTimeout(() => self.resolve(false), timeoutMs);
      const arrives = sent && (await self.promise);
      clearTimeout(limit);
      // Without a message or without a listener, nothing is known.
      if (sent && holds()) judge(arrives);
      return isListening || misses >= maxMisses ? checkMs : againMs;
    },
  };
}

/** @param earlier receives messages from before the first read, which are not new. */
function createReader(received: (text: string) => void, earlier: (text: string) => boolean) {
  let started = false;
  let reading = false;
  return {
    async read(client: Client): Promise<void> {
      if (reading) return;
      reading = true;
      try {
        const { rows } = await client.query<{ text: string }>(written);
        for (const { text } of rows) (started ? received : earlier)(text);
        started = true;
      } catch {
        // The connection is gone, and the next one reads on.
      }
      reading = false;
    },
    rest() {
      started = false;
    },
  };
}

/** @returns whether a text comes for the first time, as far as anybody may still read it. */
function createSeen(): (text: string) => boolean {
  let [young, old] = [new Set<string>(), new Set<string>()];
  let since = performance.now();
  return (text) => {
    if (performance.now() - since > 2 * pingMs) [young, old, since] = [new Set(), young, performance.now()];
    if (young.has(text) || old.has(text)) return false;
    young.add(text);
    return true;
  };
}
