/** Options: typed reads from a cache, checked writes, secrets sealed. */
import type { Database } from '../../../db/open.ts';
import { createOptionsRepository } from '../../../db/repositories/options.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { modelRules } from '../../contract/model-rules.ts';
import {
  isOptionKey,
  type OptionKey,
  type OptionValue,
  optionKeys,
  optionRow,
  optionText,
  optionValue,
} from '../../contract/options.ts';
import { compilePriceTables, type PriceTables, priceOptionKeys } from '../../contract/pricing/tables.ts';
import { unrunnableRule } from '../../providers/knowledge/own.ts';
import { refuseOlderNodes } from '../nodes/older.ts';
import type { Vault } from '../secrets/vault.ts';

export interface OptionView {
  readonly key: OptionKey;
  /** '' for secrets. */
  readonly value: string;
  readonly secret: boolean;
  /** True when a value is stored. */
  readonly isSet: boolean;
}

/** What became of a write: whether anything is another value, and the version that keeps what was there, 0 = none. */
export interface Stored {
  readonly changed: boolean;
  readonly version: number;
}

export type OptionsService = Awaited<ReturnType<typeof createOptions>>;

/** Earlier texts of these are kept. */
const versionedKeys: readonly OptionKey[] = [
  ...priceOptionKeys.filter((key) => key !== 'QuotaPerUnit'),
  'ChannelCostRatio',
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

  /** Stores checked texts (null = default); earlier texts of price maps become a version. */
  const store = async (
    texts: ReadonlyMap<OptionKey, string | null>,
    actor: string,
    reason: string,
  ): Promise<Stored> => {
    const changed = [...texts].filter(([key, text]) => (stored.get(key) ?? null) !== text);
    if (changed.some(([key, text]) => key === 'request_rules' && text !== null && text !== optionRow(key).fallback))
      await refuseOlderNodes(deps.database, 'request_rules_node');
    const versioned = changed.filter(([key]) => versionedKeys.includes(key));
    const kept = Object.fromEntries(versioned.map(([key]) => [key, stored.get(key) ?? null]));
    const sealed = changed.map(
      ([key, text]) =>
        [key, text !== null && optionRow(key).secret ? deps.vault.encrypt(`option:${key}`, text) : text] as const,
    );
    const version = versioned.length === 0 ? null : { actor, reason, kept: JSON.stringify(kept) };
    const id = changed.length === 0 ? 0 : await repository.change(new Map(sealed), version, seconds());
    for (const [key, text] of changed) {
      if (text === null) stored.delete(key);
      else stored.set(key, text);
    }
    return { changed: changed.length > 0, version: id };
  };

  /** @throws AppError option_unknown, option_invalid, option_root_only, option_needs. */
  const check = (key: string, value: string, role: number): { key: OptionKey; value: string } => {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    const row = optionRow(key);
    if (role < row.role) throw new AppError('option_root_only', { key });
    const text = row.kind.clean?.(value) ?? value;
    const complaint = row.kind.check(text) ?? row.kind.checkNew?.(text) ?? null;
    if (complaint !== null) throw new AppError('option_invalid', { key, ...complaint });
    const unrunnable = key === 'model_rules' ? unrunnableRule(modelRules.parse(text)) : 0;
    if (unrunnable > 0)
      throw new AppError('option_invalid', {
        key,
        zh: `第 ${unrunnable} 条规则：models 不能使用前后查找或反向引用，且须符合 RE2 语法`,
        en: `rule ${unrunnable}: models must be a pattern of RE2, without lookaround and back-references`,
      });
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

  /** @throws AppError option_unknown, option_root_only. */
  const resettable = (key: string, role: number): OptionKey => {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    if (role < optionRow(key).role) throw new AppError('option_root_only', { key });
    return key;
  };

  return {
    get: <K extends OptionKey>(key: K): OptionValue<K> => optionValue(stored, key),
    /** Stored text, or the default where nothing valid is stored. */
    text: (key: OptionKey): string => optionText(stored, key),
    /** The value as it is stored; null = nothing is. */
    stored: (key: OptionKey): string | null => stored.get(key) ?? null,
    fallback: (key: OptionKey): string => optionRow(key).fallback,
    /** Epoch milliseconds. */
    now: deps.now,
    /** The prices that hold now. */
    priceTables: (): PriceTables => compilePriceTables((key) => optionText(stored, key), deps.now()),
    list(): OptionView[] {
      return optionKeys.map((key) => ({
        key,
        value: optionRow(key).secret ? '' : (stored.get(key) ?? optionRow(key).fallback),
        secret: optionRow(key).secret,
        isSet: stored.has(key),
      }));
    },
    /** A changed price map is kept as a version. @returns whether it was another value. @throws AppError option_*. */
    async set(key: string, value: string, role: number, actor = ''): Promise<boolean> {
      const checked = check(key, value, role);
      // An empty secret field means: leave it as it is.
      if (optionRow(checked.key).secret && checked.value === '') return false;
      return (await store(new Map([[checked.key, checked.value]]), actor, 'set')).changed;
    },
    /** Several at once, all or none; null = default. @returns the version that keeps what was there, 0 = none. @throws AppError option_*. */
    async setMany(
      texts: Readonly<Record<string, string | null>>,
      role: number,
      actor: string,
      reason: string,
    ): Promise<number> {
      const checked = Object.entries(texts).map(([key, text]): [OptionKey, string | null] => {
        if (text !== null) {
          const { key: known, value } = check(key, text, role);
          return [known, value];
        }
        return [resettable(key, role), null];
      });
      return (await store(new Map(checked), actor, reason)).version;
    },
    /** @throws AppError option_unknown, option_invalid. */
    validate: (key: string, value: string): void => void check(key, value, Role.root),
    /** Back to the default; also the way to forget a secret. @throws AppError option_unknown, option_root_only. */
    async reset(key: string, role: number, actor: string): Promise<boolean> {
      return (await store(new Map([[resettable(key, role), null]]), actor, 'reset')).changed;
    },
    /** Puts the model ratios, and no other map, back to the shipped ones; the old ones stay as a version. Needs the right to edit them. @throws AppError option_root_only. */
    resetRatios: (role: number, actor: string): Promise<Stored> =>
      store(new Map([[resettable('ModelRatio', role), null]]), actor, 'reset'),
    /** Another process wrote to the table. */
    async reload(): Promise<void> {
      stored = await readable();
    },
    meta: repository.meta,
    setMeta: repository.setMeta,
  };
}
