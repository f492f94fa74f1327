/**
 * A connection of its own for NOTIFY of other nodes. Behind a pooler that lends connections by the transaction nothing ever
 * arrives, without any error: so it notifies itself first, and again now and then.
 */
import { Client, type Pool } from 'pg';
import type { PostgresPlace } from '../place.ts';
import { readAsLibpq } from './open.ts';

/** What a session of the driver is used for here. */
export interface ListenerConnection {
  query(text: string): Promise<unknown>;
  onNotice(received: (channel: string, payload: string) => void): void;
  onEnd(ended: () => void): void;
  close(): void;
}

export interface NotificationListener {
  /** Whether notifications arrive. */
  isListening(): boolean;
  close(): void;
}

export interface ListenerDeps {
  readonly connect: () => Promise<ListenerConnection>;
  /** Over another connection, as others would. */
  readonly notify: (channel: string, payload: string) => Promise<void>;
  readonly channels: readonly string[];
  readonly receive: (channel: string, payload: string) => void;
  /** Called when it receives again: notifications in between were lost. */
  readonly back: () => void;
  /** Unique name of the self-check channel. */
  readonly name: string;
  readonly wait: (ms: number) => Promise<void>;
}

/** Between two self-checks. */
const checkMs = 10_000;
/** A notification arrives within this time or never. */
const timeoutMs = 2000;
const firstAgainMs = 250;
const maxRetryMs = 30_000;

export function createNotificationListener(deps: ListenerDeps): NotificationListener {
  const own = `gateway_ear_${deps.name}`;
  let hearing = false;
  let closed = false;
  let line: ListenerConnection | null = null;
  const end = Promise.withResolvers<void>();

  const provenOn = async (ended: Promise<void>, receivedOwn: () => Promise<void>): Promise<boolean> => {
    const received = receivedOwn().then(() => true);
    const failed = deps.notify(own, '').then(
      () => new Promise<false>(() => undefined),
      () => false as const,
    );
    return Promise.race([received, failed, ended.then(() => false), deps.wait(timeoutMs).then(() => false)]);
  };

  /** @returns whether anything arrived at all. */
  const listen = async (): Promise<boolean> => {
    const opened = await deps.connect();
    line = opened;
    const ended = Promise.withResolvers<void>();
    let self = Promise.withResolvers<void>();
    opened.onEnd(ended.resolve);
    opened.onNotice((channel, payload) => {
      if (channel === own) self.resolve();
      else deps.receive(channel, payload);
    });
    const receivedOwn = () => {
      self = Promise.withResolvers();
      return self.promise;
    };
    for (const channel of [own, ...deps.channels]) await opened.query(`LISTEN "${channel}"`);
    let received = false;
    while (!closed && (await provenOn(ended.promise, receivedOwn))) {
      received = true;
      if (!hearing) {
        hearing = true;
        deps.back();
      }
      await Promise.race([deps.wait(checkMs), ended.promise, end.promise]);
    }
    return received;
  };

  const run = async (): Promise<void> => {
    let again = firstAgainMs;
    while (!closed) {
      const received = await listen().catch(() => false);
      hearing = false;
      line?.close();
      line = null;
      again = received ? firstAgainMs : Math.min(again * 2, maxRetryMs);
      if (!closed) await Promise.race([deps.wait(again), end.promise]);
    }
  };
  void run();

  return {
    isListening: () => hearing,
    close() {
      closed = true;
      end.resolve();
      line?.close();
    },
  };
}

/** @throws the driver's error. */
export async function openListenerConnection(place: PostgresPlace): Promise<ListenerConnection> {
  const client = new Client({
    connectionString: readAsLibpq(place.direct ?? place.url),
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    application_name: 'gateway news',
  });
  client.on('error', () => undefined);
  await client.connect();
  return {
    query: (text) => client.query(text),
    onNotice: (received) => void client.on('notification', ({ channel, payload }) => received(channel, payload ?? '')),
    onEnd: (ended) => void client.on('end', ended),
    close: () => void client.end().catch(() => undefined),
  };
}

export const notifyOver =
  (pool: Pool) =>
  async (channel: string, payload: string): Promise<void> => {
    await pool.query('SELECT pg_notify($1, $2)', [channel, payload]);
  };
