/** A gateway in memory with a channel for each upstream of the grid; nothing leaves the process. */

import { rowRules } from '../../../server/practice/row-rules.ts';
import { providerBySlug } from '../../../server/providers/catalogue.ts';
import { modelRows } from '../../../server/providers/knowledge/models.ts';
import { providerRows } from '../../../server/providers/knowledge/providers.ts';
import type { ModelRow, ProviderRow } from '../../../server/providers/knowledge/row.ts';
import { bedrockAccount } from '../../doubles/doubles/bedrock.ts';
import { createVertex, makeServiceAccount } from '../../doubles/doubles/vertex.ts';
import { createDouble, type Exchange, type RunningDouble } from '../../doubles/serve.ts';
import { doubles } from '../../doubles/table.ts';
import { createTestGateway, type TestGateway } from '../../support/gateway.ts';
import { aliasOf, type GridTarget } from './targets.ts';

export interface World {
  readonly gateway: TestGateway;
  /** The gateway as clients reach it. */
  readonly fetch: typeof fetch;
  readonly key: string;
  /** What the doubles saw since the last look. */
  take(): readonly Exchange[];
  /** The key of its channel, for a model by the name that its upstream has. */
  pinned(target: GridTarget): string;
  /** What the newest row of the log says was not carried over. */
  dropped(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export const gatewayUrl = 'http://gateway.test';
const hostOf = (double: string): string => `http://${double}.double.test`;

export interface Rows {
  readonly models: readonly ModelRow[];
  readonly providers: readonly ProviderRow[];
}

const allRows: Rows = { models: modelRows, providers: providerRows };

/** The doubles behind their hosts, and what a channel at each of them needs. @param rows what they go by; the gateway has its own. */
export function playDoubles(onExchange: (exchange: Exchange) => void, rows: Rows = allRows) {
  const account = makeServiceAccount(`${hostOf('vertex')}/token`);
  const { accessKey, secretKey } = bedrockAccount;
  const keys: Readonly<Record<string, string>> = {
    bedrock: `${accessKey}|${secretKey}|us-east-1`,
    vertex: JSON.stringify(JSON.parse(account.json)),
    'zhipu-signed': 'practice.secret',
  };
  const running = new Map<string, RunningDouble>(
    [...doubles, createVertex(account)].map((double) => [
      double.name,
      createDouble(double, { now: Date.now, rulesFor: rowRules(rows.models, rows.providers), onExchange }),
    ]),
  );
  return {
    async answer(request: Request): Promise<Response> {
      const double = running.get(new URL(request.url).hostname.split('.')[0] ?? '');
      if (double === undefined) throw new Error(`nobody answers at ${request.url}`);
      return double.handle(request);
    },
    channelOf(target: GridTarget) {
      const double = running.get(target.double)?.double;
      const provider = providerBySlug(double?.slug ?? '');
      if (double === undefined || provider === undefined) throw new Error(`no double ${target.double}`);
      const alias = aliasOf(target);
      return {
        type: provider.type,
        name: alias,
        key: keys[target.double] ?? 'sk-practice',
        models: `${alias},${target.model},${target.model}-high`,
        model_mapping: JSON.stringify({ [alias]: target.model }),
        base_url: hostOf(target.double) + double.base,
        ...target.fields,
      };
    },
  };
}

/** @param rows what the doubles go by; the gateway has its own. */
export async function createWorld(targets: readonly GridTarget[], rows: Rows = allRows): Promise<World> {
  const seen: Exchange[] = [];
  const { answer, channelOf } = playDoubles((exchange) => void seen.push(exchange), rows);
  const toDoubles = (async (input: RequestInfo | URL, init?: RequestInit) => {
    const { method, headers, body } = init ?? {};
    return answer(new Request(String(input), { method: method ?? 'GET', headers: headers ?? {}, body: body ?? null }));
  }) as typeof fetch;
  const gateway = await createTestGateway({ upstreamFetch: toDoubles, quota: 1e15 });
  await gateway.option('SelfUseModeEnabled', 'true');
  const channels = new Map<string, number>();
  for (const target of targets) {
    const { base_url: address, ...fields } = channelOf(target);
    channels.set(aliasOf(target), await gateway.channel(address, fields));
  }
  const { key } = await gateway.token();
  return {
    gateway,
    key,
    fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input instanceof Request ? input : String(input), init);
      return gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
    }) as typeof fetch,
    take: () => seen.splice(0),
    pinned: (target) => `${key}-${channels.get(aliasOf(target))}`,
    async dropped() {
      const log = await gateway.lastLog();
      return (JSON.parse(log?.other ?? '{}') as { dropped?: string[] }).dropped ?? [];
    },
    close: () => gateway.close(),
  };
}
