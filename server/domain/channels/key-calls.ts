/** What operators do with single keys of a channel: look at them, test them, switch them. */
import type { Database } from '../../../db/open.ts';
import type { ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { AppError } from '../../contract/errors.ts';
import type { KeyHealth } from '../../contract/key-health.ts';
import type { Vault } from '../secrets/vault.ts';
import { type ChannelKey, channelKeys, findKey } from './keys.ts';
import { checkOlderNodes } from './older-nodes.ts';

export type KeyStatus = 'in_use' | 'waiting' | 'refused' | 'off';

/** A key without the key itself. */
export interface KeyView {
  readonly key_id: string;
  readonly hint: string;
  readonly status: KeyStatus;
  /** Milliseconds until it is tried again; 0 = it may be now. */
  readonly wait_ms: number;
  /** Milliseconds until its upstream lets it work again, where it said so. */
  readonly upstream_wait_ms: number;
  readonly waiting_models: readonly { readonly model: string; readonly wait_ms: number }[];
  /** The upstream's words when it failed last; '' = it did not since that is known. */
  readonly error: string;
  /** Epoch seconds; 0 = never. */
  readonly error_time: number;
  readonly used_time: number;
}

export interface KeyTestResult {
  readonly ok: boolean;
  readonly ms: number;
  readonly message: string;
}

export interface KeyCallsDeps {
  readonly database: Database;
  readonly repository: ReturnType<typeof createChannelsRepository>;
  /** @throws AppError not_found */
  readonly find: (id: number) => Promise<ChannelRow>;
  readonly vault: Pick<Vault, 'open'>;
  /** Asks the relay; null where no server runs. */
  readonly health: ((id: number) => Promise<readonly KeyHealth[]>) | null;
  /** The test of the channels' service. */
  readonly tryOut: (
    id: number,
    fields: Pick<ChannelRow, 'models' | 'model_mapping' | 'test_model'> & { readonly key: string },
    request: { readonly model: string; readonly stream: boolean },
  ) => Promise<KeyTestResult>;
}

function statusOf({ isOff }: ChannelKey, health: KeyHealth | undefined): KeyStatus {
  if (isOff) return 'off';
  if (health?.isRefused === true) return 'refused';
  return (health?.waitMs ?? 0) > 0 ? 'waiting' : 'in_use';
}

const seconds = (ms: number): number => Math.floor(ms / 1000);

function keyView(key: ChannelKey, health: KeyHealth | undefined): KeyView {
  const { waitMs = 0, spentMs = 0, models = [], error = '', errorAt = 0, usedAt = 0 } = health ?? {};
  return {
    key_id: key.name,
    hint: key.hint,
    status: statusOf(key, health),
    wait_ms: key.isOff ? 0 : Math.ceil(waitMs),
    upstream_wait_ms: key.isOff ? 0 : Math.ceil(spentMs),
    waiting_models: key.isOff ? [] : models.map((one) => ({ model: one.model, wait_ms: Math.ceil(one.waitMs) })),
    error,
    error_time: seconds(errorAt),
    used_time: seconds(usedAt),
  };
}

export function createKeyCalls({ database, repository, find, vault, health, tryOut }: KeyCallsDeps) {
  const viewsOf = async (row: ChannelRow): Promise<KeyView[]> => {
    const states = new Map((await health?.(row.id))?.map((one) => [one.name, one]));
    return channelKeys(row, vault).map((key) => keyView(key, states.get(key.name) ?? states.get('')));
  };
  return {
    /** The keys in the order of the channel's list. @throws AppError not_found */
    keys: async (id: number): Promise<KeyView[]> => viewsOf(await find(id)),
    /** @param ref name or hint. @throws AppError not_found, name_ambiguous, channel_last_key, channel_key_node */
    async switchKey(
      id: number,
      ref: string,
      isOn: boolean,
    ): Promise<{ readonly key: KeyView; readonly changed: boolean }> {
      for (;;) {
        const row = await find(id);
        const keys = channelKeys(row, vault);
        const { name, isOff } = findKey(keys, ref);
        const changed = isOff === isOn;
        if (!isOn && keys.every((one) => one.isOff || one.name === name)) throw new AppError('channel_last_key');
        const others = row.keys_off.split(',').filter((one) => one !== '' && one !== name);
        const keys_off = [...others, ...(isOn ? [] : [name])].sort().join(',');
        await checkOlderNodes(database, { keys_off }, row);
        // Somebody else may have switched another one in the meantime.
        if (changed && !(await repository.replaceKeysOff(id, row.keys_off, keys_off))) continue;
        const key = (await viewsOf({ ...row, keys_off })).find(({ key_id }) => key_id === name);
        if (key === undefined) throw new AppError('not_found', { what: `key ${ref}` });
        return { key, changed };
      }
    },
    /** A real request with that key alone, in use or not. @param model '' = the channel's own for tests. @throws AppError not_found, name_ambiguous */
    async testKey(id: number, ref: string, model: string, stream: boolean): Promise<KeyTestResult> {
      const row = await find(id);
      const { key, name } = findKey(channelKeys(row, vault), ref);
      const { models, model_mapping, test_model } = row;
      const result = await tryOut(id, { key, models, model_mapping, test_model }, { model, stream });
      const state = result.ok ? (await health?.(id))?.find((one) => one.name === name) : undefined;
      // What is known of it is over: the relays read the channel again.
      if (state !== undefined && (state.isRefused || state.waitMs > 0 || state.models.length > 0))
        await repository.update(id, { keys_off: row.keys_off });
      return result;
    },
  };
}
