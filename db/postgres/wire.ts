/** What nodes tell each other at once, over NOTIFY on a connection of its own: never in a transaction that settles. */
import { Client } from 'pg';
import type { PostgresPlace } from '../place.ts';
import { readAsLibpq } from './open.ts';

export interface Wire {
  /** What the database is away for, is not told. */
  tell(text: string): void;
  /** Whether news arrive. */
  hears(): boolean;
  close(): void;
}

const channel = 'gateway_nodes';
const againMs = 500;
const connectWithinMs = 5000;
const pingMs = 5000;
const answerWithinMs = 5000;

const cut = (client: Client): void =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();

/** Connects by itself, again and again. @param hear a text that somebody has told, this node's own among them. */
export function openWire(place: PostgresPlace, hear: (text: string) => void): Wire {
  let client: Client | null = null;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const connect = async () => {
    const fresh = new Client({
      connectionString: readAsLibpq(place.direct ?? place.url),
      connectionTimeoutMillis: connectWithinMs,
      keepAlive: true,
      application_name: 'gateway wire',
    });
    let gone = false;
    const lost = () => {
      if (gone) return;
      gone = true;
      if (client === fresh) client = null;
      fresh.end().catch(() => undefined);
      if (!closed) timer = setTimeout(() => void connect(), againMs);
    };
    fresh.on('error', lost);
    fresh.on('end', lost);
    fresh.on('notification', ({ payload }) => hear(payload ?? ''));
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${channel}`);
      if (closed) return lost();
      client = fresh;
    } catch {
      lost();
    }
  };
  void connect();
  // A connection that leads nowhere says nothing by itself.
  const pings = setInterval(() => {
    const asked = client;
    if (asked === null) return;
    const late = setTimeout(() => cut(asked), answerWithinMs);
    asked.query('SELECT 1').then(
      () => clearTimeout(late),
      () => clearTimeout(late),
    );
  }, pingMs);

  return {
    tell(text) {
      client?.query('SELECT pg_notify($1, $2)', [channel, text]).catch(() => undefined);
    },
    hears: () => client !== null,
    close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(pings);
      client?.end().catch(() => undefined);
    },
  };
}
