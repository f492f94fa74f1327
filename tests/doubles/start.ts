/** A double behind a port of this machine. */

import { rowRules } from '../../server/practice/row-rules.ts';
import { modelRows } from '../../server/providers/knowledge/models.ts';
import { providerRows } from '../../server/providers/knowledge/providers.ts';
import type { Double } from './double.ts';
import { bedrockAccount } from './doubles/bedrock.ts';
import { createVertex, makeServiceAccount } from './doubles/vertex.ts';
import { createDouble } from './serve.ts';
import { doubles } from './table.ts';

export interface StrictOptions {
  readonly name: string;
  /** 0 = any that is free. */
  readonly port: number;
  readonly host?: string;
  /** Whether it refuses what the provider refuses; it looks at keys either way. */
  readonly strict: boolean;
  /** One line for each request. */
  readonly print?: (line: string) => void;
}

export interface RunningStrict {
  /** What a channel's address must be. */
  readonly url: string;
  /** What a channel's key must be. */
  readonly key: string;
  stop(): Promise<void>;
}

interface Played {
  readonly double: Double;
  readonly key: string;
}

/** @returns null when nobody of this name can be played. */
function playedAs(name: string, origin: string): Played | null {
  if (name === 'vertex') {
    const account = makeServiceAccount(`${origin}/token`);
    return { double: createVertex(account), key: JSON.stringify(JSON.parse(account.json)) };
  }
  const double = doubles.find((one) => one.name === name);
  const { accessKey, secretKey } = bedrockAccount;
  return double === undefined
    ? null
    : { double, key: name === 'bedrock' ? `${accessKey}|${secretKey}|us-east-1` : 'sk-practice' };
}

const lenient = (double: Double): Double => ({
  ...double,
  doors: double.doors.map((door) => ({ ...door, rules: [] })),
});

/** @returns null when nobody of this name can be played. */
export function startStrictDouble({ name, port, host, strict, print }: StrictOptions): RunningStrict | null {
  let handle = (_request: Request): Promise<Response> => Promise.resolve(new Response(null, { status: 503 }));
  if (playedAs(name, '') === null) return null;
  const server = Bun.serve({
    hostname: host ?? '127.0.0.1',
    port,
    idleTimeout: 0,
    development: false,
    fetch: (request) => handle(request),
  });
  const origin = `http://${server.hostname}:${server.port}`;
  const played = playedAs(name, origin);
  if (played === null) return null;
  const { double, key } = played;
  handle = createDouble(strict ? double : lenient(double), {
    now: Date.now,
    ...(strict ? { rulesFor: rowRules(modelRows, providerRows) } : {}),
    onExchange: ({ path, model, rejected }) =>
      print?.(
        `${path} ${model} ${rejected === null ? 200 : `${rejected.refusal.status} ${rejected.rule}: ${rejected.refusal.message}`}`,
      ),
  }).handle;
  return { url: origin + double.base, key, stop: () => server.stop(true) };
}
