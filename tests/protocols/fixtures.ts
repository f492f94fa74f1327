/** Requests, answers and streams written out by hand, with the events they mean: one folder per dialect and scenario. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';

const folder = join(import.meta.dirname, 'fixtures');

export interface Fixture {
  readonly name: string;
  readonly dialect: ProtocolId;
  readonly request: Readonly<Record<string, unknown>> | null;
  readonly response: unknown;
  readonly stream: Uint8Array<ArrayBuffer> | null;
  /** What the stream means. */
  readonly events: readonly ChatEvent[] | null;
}

/** What is written out names the buckets it uses. */
const counted = (event: ChatEvent): ChatEvent =>
  event.type === 'usage' ? { ...event, usage: { ...emptyUsage, ...event.usage } } : event;

const dialects = (Object.keys(codecs) as ProtocolId[]).filter((dialect) => existsSync(join(folder, dialect)));

export const fixtures: readonly Fixture[] = dialects.flatMap((dialect) =>
  readdirSync(join(folder, dialect)).map((scenario): Fixture => {
    const read = (file: string): Buffer<ArrayBuffer> | null => {
      const path = join(folder, dialect, scenario, file);
      return existsSync(path) ? Buffer.from(readFileSync(path)) : null;
    };
    const json = (file: string) => JSON.parse(read(file)?.toString('utf8') ?? 'null');
    return {
      name: `${dialect}/${scenario}`,
      dialect,
      request: json('request.json'),
      response: json('response.json'),
      stream: read('stream.txt'),
      events: (json('events.json') as ChatEvent[] | null)?.map(counted) ?? null,
    };
  }),
);
