/** What an address of a provider's offers: its own hosts may speak more than its row says, and a full address speaks one thing. */
import { allCodecs } from '../protocols/registry.ts';
import { type SecondDialect, secondDialects } from './knowledge/second-dialects.ts';

/** Of a provider's row, what addresses follow from. */
interface Offering {
  readonly slug: string;
  readonly baseUrl: string;
  readonly address: 'base' | 'full';
  readonly paths: Readonly<Record<string, string>>;
  readonly operations: readonly string[];
}

const byProvider = Map.groupBy(secondDialects, ({ provider }) => provider);
const none: readonly SecondDialect[] = [];
const known = new Map<string, readonly SecondDialect[]>();
/** A channel has one base. */
const maxBases = 1000;

function secondAt({ slug, baseUrl }: Offering, configured: string): readonly SecondDialect[] {
  const rows = byProvider.get(slug);
  if (rows === undefined) return none;
  const base = configured === '' ? baseUrl : configured;
  const key = `${slug} ${base}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const host = URL.canParse(base) ? new URL(base).hostname : '';
  const offered = rows.filter(({ hosts }) => hosts.test(host));
  if (known.size >= maxBases) known.clear();
  known.set(key, offered);
  return offered;
}

/** @returns the path of an operation that the provider's row does not have. */
export const secondPath = (
  provider: Offering,
  operation: string,
  { baseUrl, model }: { readonly baseUrl: string; readonly model: string },
): string | undefined =>
  secondAt(provider, baseUrl).find(
    (row) => row.operation === operation && (row.models === undefined || row.models.test(model)),
  )?.path;

/** All operations of a provider at its own hosts. */
export const operationsOf = ({ slug, operations }: Offering): readonly string[] => {
  const more = byProvider.get(slug)?.map(({ operation }) => operation) ?? [];
  return more.length === 0 ? operations : [...operations, ...more];
};

const chats: ReadonlySet<string> = new Set(allCodecs.map(({ definition }) => definition.chatOperation));
const hasPath = (base: string): boolean => /^[a-z]+:\/\/[^/]+\/./i.test(base);
const version = /(?<=[^/])\/v\d+$/;

/** A channel's whole address, in parts: what stands before the operation's path, which operation that is, and what follows. */
interface FullAddress {
  readonly root: string;
  /** null = its path is none of those that are known, so it is a chat's. */
  readonly operation: string | null;
  readonly query: string;
}

function fullAddress(provider: Offering, base: string): FullAddress | null {
  if (provider.address !== 'full' || version.test(base) || !hasPath(base)) return null;
  const [path = '', ...query] = base.split('?');
  // Below a version any prefix may stand: the operation's own words are what ends it.
  const endings = Object.entries(provider.paths).map(
    ([operation, own]) => [operation, own.replace(/^\/v\d+/, '')] as const,
  );
  const found = endings.filter(([, ending]) => path.endsWith(ending)).sort(([, a], [, b]) => b.length - a.length)[0];
  const rest = query.length === 0 ? '' : `?${query.join('?')}`;
  return found === undefined
    ? { root: base, operation: null, query: '' }
    : { root: path.slice(0, -found[1].length), operation: found[0], query: rest };
}

/** @returns undefined where the base is no full address; null where nothing of the kind is there. */
export function atFullAddress(provider: Offering, operation: string, base: string): string | null | undefined {
  const full = fullAddress(provider, base);
  if (full === null) return undefined;
  const own = full.operation ?? 'chat';
  if (operation === own) return base;
  // One address speaks one dialect; what is no chat may stand beside it.
  if (full.operation === null || (chats.has(operation) && chats.has(own))) return null;
  const path = provider.paths[operation]?.replace(/^\/v\d+/, '');
  return path === undefined ? null : `${full.root}${path}${full.query}`;
}

/** The dialects among operations, with the names their makers have for them. */
export function dialectsOf(operations: readonly string[]) {
  const spoken = allCodecs.filter(({ definition }) => operations.includes(definition.chatOperation));
  return {
    dialects: spoken.map(({ id }) => id),
    dialect_labels: Object.fromEntries(spoken.map(({ id, definition }) => [id, definition.label])),
  };
}
