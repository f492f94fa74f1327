/** Explains how requests for a model are routed: who may serve it, in which order, and who was left out and why. */

import type { ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { KeyHealth } from '../../contract/key-health.ts';
import { candidateList, mapModel, shareOf, type WeightOptions } from '../../routing/candidates.ts';
import type { ChainExplanation } from '../virtual-models/explain.ts';
import { members } from './service.ts';
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
  readonly userGroup: string;
  /** null = every model. */
  readonly models: readonly string[] | null;
}

export interface RoutesDeps {
  readonly repository: ReturnType<typeof createChannelsRepository>;
  /** @throws AppError not_found */
  readonly callerOfToken: (name: string, userId: number) => Promise<RouteCaller>;
  readonly chains: ChainExplanation;
  readonly unsupported: Pick<UnsupportedMembersService, 'holding'>;
  /** As the operator set them. */
  readonly weights: () => WeightOptions;
  /** Asks the relay; null where no server runs. */
  readonly statusOf: ((ids: readonly number[], model: string | null) => Promise<readonly ChannelHealthStatus[]>) | null;
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
    return { group: used, userGroup: used, models: null };
  };
  return {
    callerOf,
    /** @param userId whose tokens a name is looked up in. @throws AppError params_invalid, not_found. */
    async explain(
      requested: {
        readonly model?: string | undefined;
        readonly group?: string | undefined;
        readonly token?: string | undefined;
      },
      userId: number,
    ) {
      const model = requested.model ?? '';
      if (model === '') throw new AppError('params_invalid', { detail: 'model' });
      const caller = await callerOf(requested, userId);
      const { group } = caller;
      const isVirtual = (await deps.chains.chainNamed(model)) !== null;
      const rows = await deps.repository.all();
      const list = candidateList(rows.filter((row) => reasonAgainst(row, model, group) === null).map(routable));
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
        channels: serving.map(({ row, share }, index) => ({
          channel_id: row.id,
          name: row.name,
          priority: row.priority,
          weight: row.weight,
          share: Math.round(share * 1000) / 1000,
          condition: limits[index]?.condition ?? 'unknown',
          wait_ms: limits[index]?.waitMs ?? 0,
          upstream_model: mapModel(mappingOf(row), model),
          not_sent: unsupported.flatMap(({ channel_id: id, model: at, member }) =>
            id === row.id && at === mapModel(mappingOf(row), model) ? [member] : [],
          ),
        })),
        // Channels that never heard of the model explain nothing.
        left_out: rows.flatMap((row) => {
          const reason = reasonAgainst(row, model, group);
          return reason === null || reason === 'model not listed'
            ? []
            : [{ channel_id: row.id, name: row.name, reason }];
        }),
        ...(isVirtual ? { chain: await deps.chains.explain({ ...plainRequest, ...caller, name: model }) } : {}),
      };
    },
  };
}

export type RoutesService = ReturnType<typeof createRoutes>;
