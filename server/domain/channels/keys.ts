/** The keys of one channel, each under a name of its own, and which of them are switched off. */
import { createHash } from 'node:crypto';
import type { ChannelRow } from '../../../db/repositories/channels.ts';
import { keysIn } from '../../contract/channel-keys.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { keyHint, type Vault } from '../secrets/vault.ts';

type Row = Pick<ChannelRow, 'key_sealed' | 'keys_off'>;

export interface ChannelKey {
  readonly name: string;
  readonly hint: string;
  readonly key: string;
  readonly isOff: boolean;
}

const nameLength = 10;
const isName = (text: string): boolean => /^[0-9a-f]{10}$/.test(text);

/**
 * @returns ten hex digits that stay the same on every machine and under every master key, wherever the key stands among
 * others: declarative files and copies of the site name it, too. They tell forty bits about a key of a hundred and more.
 */
const keyName = (key: string): string =>
  createHash('sha256').update(`gateway channel key\n${key}`).digest('hex').slice(0, nameLength);

const listed = (list: string): string[] => list.split(/[\s,]+/).filter((one) => one !== '');

/** @param text as stored, in its order. @param list column `keys_off`. */
export function keysOf(text: string, list = ''): ChannelKey[] {
  const off = new Set(listed(list));
  const keys = new Map(keysIn(text).map((key) => [keyName(key), key]));
  return [...keys].map(([name, key]) => ({ name, hint: keyHint(key), key, isOff: off.has(name) }));
}

export const channelKeys = (row: Row, vault: Pick<Vault, 'open'>): ChannelKey[] =>
  keysOf(vault.open('channel-key', row.key_sealed), row.keys_off);

/** Members of a snapshot: the keys that may be sent. A channel without any is out of use. */
export function keysInUse(
  row: Row & Pick<ChannelRow, 'status'>,
  vault: Pick<Vault, 'open'>,
): Pick<ChannelSnapshot, 'keys' | 'keyNames' | 'status'> {
  const { status } = row;
  const keys = keysIn(vault.open('channel-key', row.key_sealed));
  if (keys.length <= 1 && row.keys_off === '') return { keys, status };
  const off = new Set(listed(row.keys_off));
  const names = keys.map(keyName);
  const isOn = (_: unknown, index: number): boolean => !off.has(names[index] ?? '');
  const used = keys.filter(isOn);
  return {
    keys: used,
    keyNames: names.filter(isOn),
    status: used.length === 0 && keys.length > 0 ? ChannelStatus.disabled : status,
  };
}

/** The first key that may be sent; '' = none. */
export const firstKey = (row: Row, vault: Pick<Vault, 'open'>): string =>
  channelKeys(row, vault).find(({ isOff }) => !isOff)?.key ?? '';

/** @param text name or hint, where one key alone has it. @throws AppError not_found, name_ambiguous */
export function findKey(keys: readonly ChannelKey[], text: string): ChannelKey {
  const found = keys.filter(({ name, hint }) => name === text || hint === text);
  const [first] = found;
  if (first === undefined) throw new AppError('not_found', { what: `key ${text}` });
  if (found.length > 1)
    throw new AppError('name_ambiguous', { what: `key ${text}`, candidates: found.map(({ name }) => name).join(', ') });
  return first;
}

/**
 * @param list names, or hints of these keys; a name of no key stays, as the key may come back.
 * @returns names, each once, in alphabetical order. @throws AppError not_found, name_ambiguous
 */
export const namesOf = (list: string, keys: readonly ChannelKey[]): string =>
  [...new Set(listed(list).map((one) => (isName(one) ? one : findKey(keys, one).name)))].sort().join(',');
