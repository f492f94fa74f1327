/** Options: typed reads from a cache, checked writes, secrets sealed. */
import type { Database } from '../../../db/open.ts';
import { createOptionsRepository } from '../../../db/repositories/options.ts';
import { AppError } from '../../contract/errors.ts';
import {
  isOptionKey,
  type OptionKey,
  type OptionValue,
  optionKeys,
  optionRow,
  optionValue,
} from '../../contract/options.ts';
import type { Vault } from '../secrets/vault.ts';

export interface OptionView {
  readonly key: OptionKey;
  /** '' for secrets. */
  readonly value: string;
  readonly secret: boolean;
  /** True when a value is stored. */
  readonly isSet: boolean;
}

export type OptionsService = Awaited<ReturnType<typeof createOptions>>;

const priceKeys: readonly OptionKey[] = [
  'ModelRatio',
  'ModelPrice',
  'CompletionRatio',
  'CacheRatio',
  'CreateCacheRatio',
  'ImageRatio',
  'AudioRatio',
  'AudioCompletionRatio',
  'ContextTiers',
  'ToolPrices',
];

export async function createOptions(deps: {
  readonly database: Database;
  readonly vault: Vault;
  readonly now: () => number;
}) {
  const repository = createOptionsRepository(deps.database);
  let stored = await readable();

  async function readable(): Promise<Map<string, string>> {
    const texts = await repository.all();
    for (const [key, value] of texts) {
      if (isOptionKey(key) && optionRow(key).secret && value !== '')
        texts.set(key, deps.vault.open(`option:${key}`, value));
    }
    return texts;
  }

  const seconds = () => Math.floor(deps.now() / 1000);

  /** Stored texts of these keys as JSON, defaults left out. */
  const keptTexts = (keys: readonly OptionKey[]): string =>
    JSON.stringify(Object.fromEntries(keys.filter((key) => stored.has(key)).map((key) => [key, stored.get(key)])));

  /** @throws AppError option_unknown, option_invalid, option_root_only, option_needs. */
  const check = (key: string, value: string, role: number): { key: OptionKey; value: string } => {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    const row = optionRow(key);
    if (role < row.role) throw new AppError('option_root_only', { key });
    const text = row.trimSlash ? value.trim().replace(/\/$/, '') : (row.kind.clean?.(value) ?? value);
    const complaint = row.kind.check(text);
    if (complaint !== null) throw new AppError('option_invalid', { key, ...complaint });
    if (
      row.needs !== null &&
      text === 'true' &&
      isOptionKey(row.needs) &&
      (stored.get(row.needs) ?? optionRow(row.needs).fallback).trim() === ''
    ) {
      throw new AppError('option_needs', { key, needs: row.needs });
    }
    return { key, value: text };
  };

  return {
    get: <K extends OptionKey>(key: K): OptionValue<K> => optionValue(stored, key),
    /** Stored text or default. */
    text: (key: OptionKey): string => stored.get(key) ?? optionRow(key).fallback,
    list(): OptionView[] {
      return optionKeys.map((key) => ({
        key,
        value: optionRow(key).secret ? '' : (stored.get(key) ?? optionRow(key).fallback),
        secret: optionRow(key).secret,
        isSet: stored.has(key),
      }));
    },
    /** A changed price map is kept as a version. @throws AppError option_*. */
    async set(key: string, value: string, role: number, actor = ''): Promise<void> {
      const checked = check(key, value, role);
      const secret = optionRow(checked.key).secret;
      // An empty secret field means: leave it as it is.
      if (secret && checked.value === '') return;
      const text = secret ? deps.vault.seal(`option:${checked.key}`, checked.value) : checked.value;
      if (priceKeys.includes(checked.key) && stored.get(checked.key) !== checked.value)
        await repository.setWithBackup(checked.key, text, keptTexts([checked.key]), actor, 'set', seconds());
      else await repository.set(checked.key, text, seconds());
      stored.set(checked.key, checked.value);
    },
    /** Back to the default; also the way to forget a secret. @throws AppError option_unknown, option_root_only. */
    async reset(key: string, role: number, actor: string): Promise<void> {
      if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
      if (role < optionRow(key).role) throw new AppError('option_root_only', { key });
      if (!stored.has(key)) return;
      if (priceKeys.includes(key)) await repository.resetWithBackup([key], keptTexts([key]), actor, 'reset', seconds());
      else await repository.remove(key);
      stored.delete(key);
    },
    /** Puts the price maps back to the shipped ones; what was there stays as a version. */
    async resetRatios(actor: string): Promise<{ version: number }> {
      const version = await repository.resetWithBackup(priceKeys, keptTexts(priceKeys), actor, 'reset', seconds());
      for (const key of priceKeys) stored.delete(key);
      return { version };
    },
    /** Somebody else wrote to the table. */
    async reload(): Promise<void> {
      stored = await readable();
    },
    meta: repository.meta,
    setMeta: repository.setMeta,
  };
}
