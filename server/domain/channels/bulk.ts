/** Changes to many channels at once: by their ids, by their tag, or by how they stand. */
import type { Updateable } from 'kysely';
import type { createChannelsRepository } from '../../../db/repositories/channels.ts';
import type { ChannelsTable } from '../../../db/schema/tables.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';

type Repository = ReturnType<typeof createChannelsRepository>;

/** Absent and blank fields stay as they are. */
export interface TagChange {
  readonly new_tag?: string | undefined;
  readonly priority?: number | undefined;
  readonly weight?: number | undefined;
  readonly model_mapping?: string | undefined;
  readonly models?: string | undefined;
  readonly groups?: string | undefined;
}

/** @param models that the channels will have; none = they keep theirs. @throws AppError channel_model_virtual */
export type WriteWithModels = <Of>(
  models: string | undefined,
  write: (repository: Repository) => Promise<Of>,
) => Promise<Of>;

interface BulkChecks {
  readonly checkMapping: (text: string) => void;
  readonly writing: WriteWithModels;
}

export function createBulk(repository: Repository, { checkMapping, writing }: BulkChecks) {
  const tagOf = (tag: string | undefined): string => {
    const name = tag?.trim() ?? '';
    if (name === '') throw new AppError('tag_required');
    return name;
  };
  const blank = (value: string | undefined): boolean => value === undefined || value.trim() === '';

  return {
    /** @returns how many there were. @throws AppError channel_pick_delete */
    async removeMany(ids: readonly number[]): Promise<number> {
      if (ids.length === 0) throw new AppError('channel_pick_delete');
      return repository.removeMany(ids);
    },
    removeDisabled: (): Promise<number> =>
      repository.removeByStatus([ChannelStatus.disabled, ChannelStatus.autoDisabled]),
    /** @param tag null takes theirs away. @returns how many channels were changed. @throws AppError channel_pick_tag, tag_required */
    async tagMany(ids: readonly number[], tag: string | null): Promise<number> {
      if (ids.length === 0) throw new AppError('channel_pick_tag');
      return repository.updateMany(ids, { tag: tag === null ? '' : tagOf(tag) });
    },
    statusMany: (ids: readonly number[], status: number): Promise<number> =>
      repository.updateMany(ids, { status, other_info: '' }),
    tagStatus: (tag: string | undefined, enabled: boolean): Promise<number> =>
      repository.updateTag(tagOf(tag), {
        status: enabled ? ChannelStatus.enabled : ChannelStatus.disabled,
        other_info: '',
      }),
    /** @throws AppError tag_required, tag_priority, tag_weight, channel_mapping_json, channel_model_virtual, nothing_changed. */
    async editTag(tag: string | undefined, change: TagChange): Promise<number> {
      if (change.priority !== undefined && !Number.isSafeInteger(change.priority)) throw new AppError('tag_priority');
      if (change.weight !== undefined && !(Number.isSafeInteger(change.weight) && change.weight >= 0))
        throw new AppError('tag_weight');
      if (!blank(change.model_mapping)) checkMapping(change.model_mapping ?? '');
      const columns: Updateable<ChannelsTable> = {
        ...(change.new_tag === undefined || change.new_tag === tag ? {} : { tag: change.new_tag.trim() }),
        ...(change.priority === undefined ? {} : { priority: change.priority }),
        ...(change.weight === undefined ? {} : { weight: change.weight }),
        ...(blank(change.model_mapping) ? {} : { model_mapping: change.model_mapping }),
        ...(blank(change.models) ? {} : { models: change.models }),
        ...(blank(change.groups) ? {} : { group_name: change.groups }),
      };
      if (Object.keys(columns).length === 0) throw new AppError('nothing_changed');
      return writing(columns.models, (inside) => inside.updateTag(tagOf(tag), columns));
    },
  };
}
