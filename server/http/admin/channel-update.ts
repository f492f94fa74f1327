/** Channels as newer clients of this family send them: the fields in `channel`, beside it what several keys mean. */
import type { ChannelFields } from '../../domain/channels/service.ts';

export interface PushedChannel extends ChannelFields {
  /** `single`, `batch` = a channel for each key, `multi_to_single` = one channel that uses them all. */
  readonly mode?: string | undefined;
  /** How it uses them: `random` or `polling`. */
  readonly multi_key_mode?: string | undefined;
  readonly channel?: ChannelFields | undefined;
}

export function pushedFields({ mode, multi_key_mode: turn, channel, ...plain }: PushedChannel): ChannelFields {
  const fields = channel ?? plain;
  return mode === 'multi_to_single'
    ? { ...fields, setting: withKeyMode(fields.setting ?? '', turn === 'random' ? 'random' : 'turn') }
    : fields;
}

/** A value that is no object stays as it is; the service that stores it refuses it. */
function withKeyMode(setting: string, keyMode: string): string {
  try {
    const known: unknown = setting.trim() === '' ? {} : JSON.parse(setting);
    return typeof known === 'object' && known !== null && !Array.isArray(known)
      ? JSON.stringify({ ...known, key_mode: keyMode })
      : setting;
  } catch {
    return setting;
  }
}
