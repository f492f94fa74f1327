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

  /** @throws AppError option_unknown, option_invalid, option_root_only. */
  const check = (key: string, value: string, role: number): { key: OptionKey; value: string } => {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    const row = optionRow(key);
    if (role < row.role) throw new AppError('option_root_only', { key });
    const text = row.trimSlash ? value.replace(/\/$/, '') : value;
    const complaint = row.kind.check(text);
    if (complaint !== null) throw new AppError('option_invalid', { key, detail: `${complaint.zh} / ${complaint.en}` });
    if (
      row.needs !== null &&
      text === 'true' &&
      (stored.get(row.needs) ?? '') === '' &&
      isOptionKey(row.needs) &&
      optionRow(row.needs).fallback === ''
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
    async set(key: string, value: string, role: number): Promise<void> {
      const checked = check(key, value, role);
      const secret = optionRow(checked.key).secret;
      // An empty secret field means: leave it as it is.
      if (secret && checked.value === '') return;
      await repository.set(
        checked.key,
        secret ? deps.vault.seal(`option:${checked.key}`, checked.value) : checked.value,
        seconds(),
      );
      stored.set(checked.key, checked.value);
    },
    /** Puts the price maps back to the shipped ones; what was there stays as a version. */
    async resetRatios(actor: string): Promise<{ version: number }> {
      const kept = Object.fromEntries(priceKeys.filter((key) => stored.has(key)).map((key) => [key, stored.get(key)]));
      const version = await repository.resetWithBackup(priceKeys, JSON.stringify(kept), actor, 'reset', seconds());
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
