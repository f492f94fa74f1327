/** Prices that wait for a person: newer figures of this build, and those of a list that is read by the clock. */
import { isDeepStrictEqual as isSame } from 'node:util';
import { AppError } from '../../contract/errors.ts';
import type { OptionKey } from '../../contract/options.ts';
import { pricesDate } from '../../contract/pricing/defaults.ts';
import type { PriceChange } from '../../contract/pricing/diff.ts';
import { relevantPart } from '../../contract/pricing/open-list.ts';
import { type PriceOptionKey, priceOptionKeys } from '../../contract/pricing/tables.ts';
import { safeText } from '../../contract/safe-text.ts';
import { textWithin } from '../../contract/text-within.ts';
import type { OptionsService } from '../options/service.ts';
import type { PricingService } from './service.ts';
import { type KeptPrices, keptIn, keptPricesKey } from './shipped.ts';
import type { HeldPrice } from './sources.ts';

export type ProposalSource = 'shipped' | 'list';

export interface PriceProposal {
  /** shipped: of this build; list: of the address in the options. */
  readonly source: ProposalSource;
  /** Address of the list; '' = of this build. */
  readonly from: string;
  /** Epoch seconds of the figures; 0 = the list has not been read yet. */
  readonly at: number;
  readonly changes: readonly PriceChange[];
  /** What is not proposed, and why. */
  readonly held: readonly HeldPrice[];
  /** Why the list could not be read the last time; '' = it could. */
  readonly error: string;
}

/** A list as it was read the last time it could be. */
interface ReadList {
  readonly from: string;
  /** Epoch seconds. */
  readonly at: number;
  readonly triedAt: number;
  readonly error: string;
  /** The part that says what models of this site cost. */
  readonly text: string;
}

export interface ProposalDeps {
  readonly options: OptionsService;
  readonly pricing: Pick<PricingService, 'propose'>;
  /** Models of enabled channels. */
  readonly served: () => Promise<readonly string[]>;
  /** The guarded one. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const listKey = 'price_list';
const rejectedKey = 'rejected_prices';
/** Twice the largest open list; it is parsed at once. */
const maxBytes = 6_000_000;
const fetchMs = 30_000;
const hourSeconds = 3600;
/** A list that could not be read is tried again after so long. */
const againSeconds = 600;

/** What somebody decided upon. */
export interface Decided {
  readonly source: ProposalSource;
  /** null = all. */
  readonly names: readonly string[] | null;
  /** The time of the figures that he saw; absent = whatever is proposed. */
  readonly at?: number | undefined;
}

type Rejected = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

export type ProposalsService = ReturnType<typeof createProposals>;

export function createProposals({ options, pricing, served, fetch, now }: ProposalDeps) {
  const seconds = () => Math.floor(now() / 1000);
  const jsonOf = async <T>(key: string, absent: T): Promise<T> => {
    const text = await options.meta(key);
    return text === undefined ? absent : (JSON.parse(text) as T);
  };
  const noList: ReadList = { from: '', at: 0, triedAt: 0, error: '', text: '' };

  const mapOf = (text: string) => JSON.parse(text || '{}') as Record<string, unknown>;
  /** Names that were kept at another price than this build ships, while they still are. */
  const shippedChanges = (kept: KeptPrices): PriceChange[] =>
    (Object.keys(kept) as PriceOptionKey[]).flatMap((key) => {
      const [current, fresh] = [mapOf(options.text(key)), mapOf(options.fallback(key))];
      return Object.entries(kept[key] ?? {}).flatMap(([name, price]) => {
        const text = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value));
        const [before, after] = [text(current[name]), text(fresh[name])];
        return before === text(price) && before !== after && after !== null ? [{ key, name, before, after }] : [];
      });
    });

  const shipped = async (): Promise<PriceProposal> => ({
    source: 'shipped',
    from: '',
    // The same day in every zone.
    at: Date.parse(`${pricesDate}T12:00:00Z`) / 1000,
    changes: shippedChanges(keptIn(await options.meta(keptPricesKey))),
    held: [],
    error: '',
  });

  type Found = Pick<PriceProposal, 'changes' | 'held'>;
  /** Every look at the overview asks for it, and the same list at the same prices says the same. */
  let latest: { readonly question: readonly string[]; readonly found: Found } | null = null;
  const foundIn = async (text: string): Promise<Found> => {
    if (text === '') return { changes: [], held: [] };
    const models = await served();
    const today = new Date(now()).toISOString().slice(0, 10);
    const question = [text, today, models.join('\n'), ...priceOptionKeys.map((key) => options.text(key))];
    if (latest === null || !isSame(latest.question, question))
      latest = { question, found: pricing.propose(text, models, true) };
    return latest.found;
  };

  const listed = async (): Promise<PriceProposal> => {
    const { from, at, error, text } = await jsonOf(listKey, noList);
    const found = await foundIn(text);
    const rejected = await jsonOf<Rejected>(rejectedKey, {});
    const changes = found.changes.filter(({ key, name, after }) => rejected[key]?.[name] !== after);
    return { source: 'list', from: from || options.get('price_list.address'), at, changes, held: found.held, error };
  };

  const read = async (address: string): Promise<string> => {
    const response = await fetch(address, { signal: AbortSignal.timeout(fetchMs) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const text = await textWithin(response, maxBytes);
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (cause) {
      throw new AppError('params_invalid', { detail: 'not JSON' }, cause);
    }
    const names = new Set(await served());
    for (const key of ['ModelRatio', 'ModelPrice'] as const)
      for (const name of Object.keys(mapOf(options.text(key)))) names.add(name);
    const part = relevantPart(parsed, (model) => names.has(model)) ?? text;
    // What cannot be proposed is no list.
    pricing.propose(part, [...names], true);
    return part;
  };

  const proposalOf = (source: ProposalSource) => (source === 'shipped' ? shipped() : listed());
  /** @throws AppError not_found when one of the names has no proposal, prices_renewed when others are proposed by now. */
  const chosen = async ({ source, names, at }: Decided): Promise<readonly PriceChange[]> => {
    const { changes, at: readAt } = await proposalOf(source);
    if (at !== undefined && at !== readAt) throw new AppError('prices_renewed');
    if (names === null) return changes;
    const proposed = new Set(changes.map(({ name }) => name));
    const unknown = names.find((name) => !proposed.has(name));
    if (unknown !== undefined) throw new AppError('not_found', { what: unknown });
    return changes.filter(({ name }) => names.includes(name));
  };

  return {
    list: async (): Promise<PriceProposal[]> => {
      const all = [await shipped()];
      if (options.get('price_list.address') !== '' || (await options.meta(listKey)) !== undefined)
        all.push(await listed());
      return all;
    },
    count: async (): Promise<number> => {
      const { changes } = await shipped();
      const fromList = (await options.meta(listKey)) === undefined ? [] : (await listed()).changes;
      return new Set([...changes, ...fromList].map(({ name }) => name)).size;
    },
    /** Stores what is proposed. @returns the version to go back to, 0 = nothing was proposed. @throws AppError not_found, prices_renewed, option_*. */
    async apply(decided: Decided, role: number, actor: string) {
      const { source } = decided;
      const changes = await chosen(decided);
      const maps = new Map<OptionKey, Record<string, unknown>>();
      for (const { key, name, after } of changes) {
        const option = key as OptionKey;
        const map = maps.get(option) ?? mapOf(options.text(option));
        if (after !== null) map[name] = JSON.parse(after);
        maps.set(option, map);
      }
      const texts = Object.fromEntries([...maps].map(([key, map]) => [key, JSON.stringify(map)]));
      const version = await options.setMany(texts, role, actor, source === 'shipped' ? 'shipped' : 'sync');
      return { version, changes };
    },
    /** Keeps the prices that are in force: the same figures are not proposed again. @throws AppError not_found, prices_renewed. */
    async reject(decided: Decided): Promise<readonly PriceChange[]> {
      const changes = await chosen(decided);
      if (decided.source === 'list') {
        const rejected: Record<string, Record<string, string | null>> = {
          ...(await jsonOf<Rejected>(rejectedKey, {})),
        };
        for (const changed of new Set(changes.map(({ key }) => key))) {
          const figures = changes.flatMap(({ key, name, after }) => (key === changed ? [[name, after] as const] : []));
          rejected[changed] = { ...rejected[changed], ...Object.fromEntries(figures) };
        }
        await options.setMeta(rejectedKey, JSON.stringify(rejected));
        return changes;
      }
      const kept: Record<string, Record<string, unknown>> = { ...keptIn(await options.meta(keptPricesKey)) };
      for (const { key, name } of changes) {
        const { [name]: _rejected, ...others } = kept[key] ?? {};
        kept[key] = others;
      }
      await options.setMeta(keptPricesKey, JSON.stringify(kept));
      return changes;
    },
    /** Reads the list when its time has come. */
    async tick(): Promise<void> {
      const [from, everyHours] = [options.get('price_list.address'), options.get('price_list.every_hours')];
      if (everyHours === 0 || from === '') return;
      const state = await jsonOf(listKey, noList);
      const known = state.from === from ? state : noList;
      const wait = known.error === '' ? everyHours * hourSeconds : againSeconds;
      if (seconds() - known.triedAt < wait) return;
      const triedAt = seconds();
      const next = await read(from).then(
        (text): ReadList => ({ from, at: triedAt, triedAt, error: '', text }),
        (error: unknown): ReadList => ({ ...known, from, triedAt, error: reasonOf(error) }),
      );
      await options.setMeta(listKey, JSON.stringify(next));
    },
  };
}

const reasonOf = (error: unknown): string => {
  const detail = error instanceof AppError ? error.params.detail : undefined;
  return safeText(String(detail ?? (error instanceof Error ? error.message : error))).slice(0, 200);
};
