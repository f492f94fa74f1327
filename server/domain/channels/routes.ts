/** Explains how requests for a model are routed: who may serve it, in which order, and who was left out and why. */

import type { ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { KeyHealth } from '../../contract/key-health.ts';
import { candidateList, mapModel, shareOf, type WeightOptions } from '../../routing/candidates.ts';
import type { ChainExplanation } from '../virtual-models/explain.ts';
import { members, type RelayTest } from './service.ts';
import type { UnsupportedMembersService } from './unsupported-members.ts';

/** How a channel stands in the relay's eyes. */
export interface ChannelHealthStatus {
  readonly condition: string;
  readonly waitMs: number;
  /** Where they were asked for. */
  readonly keys?: readonly KeyHealth[];
}

/** Whose requests are routed. */
export interface RouteCaller {
  readonly group: string;
  /** The groups of a key that has several, in the order in which they are tried. */
  readonly groups?: readonly string[];
  readonly userGroup: string;
  /** null = every model. */
  readonly models: readonly string[] | null;
  /** The channels that the key is bound to; null = every channel of its groups. */
  readonly channels: readonly number[] | null;
}

export interface RoutesDeps {
  readonly repository: ReturnType<typeof createChannelsRepository>;
  /** @throws AppError not_found */
  readonly callerOfToken: (name: string, userId: number) => Promise<RouteCaller>;
  readonly chains: ChainExplanation;
  readonly unsupported: Pick<UnsupportedMembersService, 'holding'>;
  /** The weights as the operator set them. */
  readonly weights: () => WeightOptions;
  /** Asks the relay; null where no server runs. */
  readonly statusOf: ((ids: readonly number[], model: string | null) => Promise<readonly ChannelHealthStatus[]>) | null;
  readonly relayTest: RelayTest;
}

/** A request that is thought of, and where it goes. */
interface ThoughtCall {
  readonly model?: string | undefined;
  readonly channel?: number | undefined;
  readonly group?: string | undefined;
  readonly token?: string | undefined;
  readonly path?: string | undefined;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly stream?: boolean | undefined;
}

const chatPath = '/v1/chat/completions';
const isHeader = ([name, value]: readonly [string, string]): boolean =>
  /^[!#$%&'*+.^_`|~\w-]{1,128}$/.test(name) && /^[\t\x20-\x7e]{0,8192}$/.test(value);

/** @returns '' = it names none. */
function modelNamedIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    const { model } = (typeof value === 'object' && value !== null ? value : {}) as { readonly model?: unknown };
    return typeof model === 'string' ? model : '';
  } catch {
    return '';
  }
}

function reasonAgainst(row: ChannelRow, model: string, group: string): string | null {
  if (!members(row.models).includes(model)) return 'model not listed';
  if (!members(row.group_name).includes(group)) return `not in group ${group}`;
  if (row.status === ChannelStatus.disabled) return 'disabled by hand';
  return row.status === ChannelStatus.autoDisabled ? `disabled automatically ${row.other_info}`.trim() : null;
}

const routable = ({ models, group_name: groups, ...row }: ChannelRow) => ({
  ...row,
  models: members(models),
  groups: members(groups),
});

function mappingOf(row: Pick<ChannelRow, 'model_mapping'>): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(row.model_mapping || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** What is asked for when nothing else is said. */
const plainRequest = {
  promptTokens: 0,
  images: false,
  thinking: false,
  requestClass: null,
  agentType: null,
  failure: 'unavailable',
  signedTurn: false,
} as const;

export function createRoutes(deps: RoutesDeps) {
  /** @param userId whose tokens a name is looked up in. @throws AppError not_found. */
  const callerOf = async (
    { group, token }: { readonly group?: string | undefined; readonly token?: string | undefined },
    userId: number,
  ): Promise<RouteCaller> => {
    if (token) return deps.callerOfToken(token, userId);
    const used = group || 'default';
    return { group: used, userGroup: used, models: null, channels: null };
  };
  /** @param userId whose tokens a name is looked up in. @throws AppError params_invalid, not_found. */
  const explain = async (requested: Pick<ThoughtCall, 'model' | 'group' | 'token'>, userId: number) => {
    const model = requested.model ?? '';
    if (model === '') throw new AppError('params_invalid', { detail: 'model' });
    const caller = await callerOf(requested, userId);
    const { groups, channels } = caller;
    const against = (row: ChannelRow, name: string): string | null =>
      reasonAgainst(row, model, name) ?? (channels?.includes(row.id) === false ? 'not a channel of the key' : null);
    const isVirtual = (await deps.chains.chainNamed(model)) !== null;
    const rows = await deps.repository.all();
    const isServedIn = (name: string): boolean => rows.some((row) => against(row, name) === null);
    const group = groups?.find(isServedIn) ?? caller.group;
    const list = candidateList(rows.filter((row) => against(row, group) === null).map(routable));
    const serving = list.flatMap((tier) =>
      [...tier]
        .sort((a, b) => b.weight - a.weight || a.id - b.id)
        .map((row) => ({ row, share: shareOf(row, tier, deps.weights()) })),
    );
    const limits =
      (await deps.statusOf?.(
        serving.map(({ row }) => row.id),
        model,
      )) ?? [];
    const unsupported = await deps.unsupported.holding(serving.map(({ row }) => row.id));
    return {
      model,
      group,
      ...(groups === undefined ? {} : { groups: [...groups] }),
      ...(channels === null ? {} : { bound: [...channels] }),
      channels: serving.map(({ row, share }, index) => ({
        channel_id: row.id,
        name: row.name,
        priority: row.priority,
        weight: row.weight,
        share: Math.round(share * 1000) / 1000,
        condition: limits[index]?.condition ?? 'unknown',
        wait_ms: Math.ceil(limits[index]?.waitMs ?? 0),
        upstream_model: mapModel(mappingOf(row), model),
        not_sent: unsupported.flatMap(({ channel_id: id, model: at, member }) =>
          id === row.id && at === mapModel(mappingOf(row), model) ? [member] : [],
        ),
      })),
      // Channels that never heard of the model explain nothing.
      left_out: rows.flatMap((row) => {
        const reason = against(row, group);
        return reason === null || reason === 'model not listed' ? [] : [{ channel_id: row.id, name: row.name, reason }];
      }),
      ...(isVirtual ? { chain: await deps.chains.explain({ ...plainRequest, ...caller, name: model }) } : {}),
    };
  };
  /** Where a request would go first. @throws AppError params_invalid, not_found, model_not_found. */
  const firstOf = async (
    requested: Pick<ThoughtCall, 'model' | 'group' | 'token'>,
    userId: number,
  ): Promise<{ readonly model: string; readonly channel: number }> => {
    const found = await explain(requested, userId);
    const target = found.chain?.targets.find(({ order }) => order === 1);
    const model = target?.model ?? found.model;
    const channel = target === undefined ? found.channels[0]?.channel_id : target.channels[0]?.channel_id;
    if (channel === undefined) throw new AppError('model_not_found', { group: found.group, model });
    return { model, channel };
  };
  return {
    callerOf,
    explain,
    /** @param userId whose tokens a name is looked up in. @throws AppError params_invalid, not_found, and as the request would be refused with. */
    async preview(requested: ThoughtCall, userId: number) {
      const { path = '', headers = {}, stream = false } = requested;
      if (Object.keys(headers).length > 100 || !Object.entries(headers).every(isHeader))
        throw new AppError('params_invalid', { detail: 'headers' });
      const named = requested.model || modelNamedIn(requested.body ?? '');
      const chat = { model: named, messages: [{ role: 'user', content: 'Hello' }], ...(stream ? { stream } : {}) };
      const body = requested.body || JSON.stringify(chat);
      const first =
        requested.channel === undefined
          ? await firstOf({ ...requested, model: named }, userId)
          : { model: named, channel: requested.channel };
      const row = await deps.repository.find(first.channel);
      if (row === undefined) throw new AppError('not_found', { what: `channel ${first.channel}` });
      const { previewed } = await deps.relayTest({
        ...{ channelId: row.id, model: first.model, stream },
        preview: { path: path || chatPath, body, headers },
      });
      if (previewed === undefined) throw new AppError('internal');
      if ('code' in previewed) throw new AppError(previewed.code, previewed.params);
      return {
        channel_id: row.id,
        channel_name: row.name,
        model: named,
        upstream_model: previewed.upstreamModel,
        dialect: previewed.dialect,
        translated: previewed.translated,
        signed: previewed.signed,
        url: previewed.url,
        headers: { ...previewed.headers },
        body: previewed.body,
        dropped: [...previewed.dropped],
      };
    },
  };
}

export type RoutesService = ReturnType<typeof createRoutes>;
