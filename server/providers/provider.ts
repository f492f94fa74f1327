/** What a provider row says, and the addresses that follow from it. */
import { isAddressPart, isModelName } from '../contract/address-part.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import { atFullAddress, secondPath } from './base-url.ts';

export type Auth =
  | { readonly kind: 'bearer' }
  | { readonly kind: 'header'; readonly name: string }
  /** The key signs the request or buys a token for it. */
  | { readonly kind: 'signed' }
  | { readonly kind: 'none' };

/** Colours of the badge in the console. */
export type Color =
  | 'green'
  | 'teal'
  | 'light-blue'
  | 'blue'
  | 'indigo'
  | 'violet'
  | 'purple'
  | 'pink'
  | 'orange'
  | 'yellow'
  | 'grey';

export interface Provider {
  /** Channel type number of the wire contract. */
  readonly type: number;
  readonly slug: string;
  readonly label: { readonly zh: string; readonly en: string };
  readonly color: Color;
  /** Dialect of its chat operation; null = one of its own. */
  readonly protocol: ProtocolId | null;
  /** Used when the channel names none; '' = the channel must name one. */
  readonly baseUrl: string;
  /** 'full': a channel's address that has a path of its own is called as it is. */
  readonly address: 'base' | 'full';
  readonly auth: Auth;
  /** Path per operation, below the base URL, with {model} and {other}. */
  readonly paths: Readonly<Record<string, string>>;
  /** Operations this build serves; empty = known, but not served yet. */
  readonly operations: readonly string[];
  /** Where the models it offers are listed, below the base URL. */
  readonly modelsPath: string | null;
  /** Named parts of the key and what stands between them; no parts = one secret. */
  readonly keyShape: { readonly parts: readonly string[]; readonly separator: string };
  /** Shape of the key as a hint for people. */
  readonly keyHint: string;
  /** What a channel's `other` field means here. */
  readonly other: {
    readonly label: { readonly zh: string; readonly en: string };
    readonly fallback: string;
    /** Where a channel names none, an option decides by model: the fallback must not be stored in its place. */
    readonly byOption: boolean;
  } | null;
  /** Models that its channels are offered. */
  readonly models: readonly string[];
  /** Models that were offered once: they stay known, by their maker and price. */
  readonly formerModels: readonly string[];
  /** Last day of a model, of both: `2026-11-28`. */
  readonly retired: ReadonlyMap<string, string>;
}

export interface EndpointInput {
  readonly baseUrl: string;
  readonly model: string;
  readonly other: string;
  /** Instead of the path in the row. */
  readonly path?: string;
}

const version = /(?<=[^/])\/v\d+$/;

/** Whether an operation is served at a channel's address. */
export function supportsOperation(
  provider: Provider,
  operation: string,
  details: { readonly baseUrl: string; readonly model: string },
): boolean {
  if (!provider.operations.includes(operation)) return secondPath(provider, operation, details) !== undefined;
  return provider.address === 'base' || atFullAddress(provider, operation, withoutSlash(details.baseUrl)) !== null;
}

/** @returns the address of an operation, or null when the provider does not serve it. */
export function endpointFor(provider: Provider, operation: string, details: EndpointInput): string | null {
  const offered = provider.operations.includes(operation);
  const path = details.path ?? (offered ? provider.paths[operation] : secondPath(provider, operation, details));
  const base = withoutSlash(details.baseUrl === '' ? provider.baseUrl : details.baseUrl);
  if (path === undefined || base === '') return null;
  const whole = atFullAddress(provider, operation, base);
  if (whole === null) return null;
  const address = whole ?? joined(provider, base, path);
  const other = details.other || (provider.other?.fallback ?? '');
  if (address.includes('{other}') && !isAddressPart(other)) return null;
  return isModelName(details.model) ? filled(address, details.model, other) : null;
}

const withoutSlash = (url: string): string => (url.endsWith('/') ? url.replace(/\/+$/, '') : url);

const addresses = new WeakMap<Provider, Map<string, string>>();
/** A channel has one base, and few paths are used. */
const maxAddresses = 1000;

/** People paste whole addresses, or with the version in them; doubling either would break every request. */
function joined(provider: Provider, base: string, path: string): string {
  const known = addresses.get(provider) ?? new Map<string, string>();
  const key = `${base} ${path}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= maxAddresses) known.clear();
  const address = rejoin(provider, base, path);
  known.set(key, address);
  addresses.set(provider, known);
  return address;
}

function rejoin(provider: Provider, base: string, path: string): string {
  if (base.endsWith(path)) return base;
  const root = rootOf(provider, base);
  if (root !== base) return root + path;
  const own = version.exec(base)?.[0];
  const after = own === undefined ? -1 : path.indexOf(`${own}/`);
  return own === undefined || after < 0 ? base + path : base + path.slice(after + own.length);
}

const starts = new WeakMap<Provider, readonly string[]>();

/** What an address may repeat of the provider's paths: as far as a version in them, or all. Longest first. */
function startsOf(provider: Provider): readonly string[] {
  const known = starts.get(provider);
  if (known !== undefined) return known;
  const found = [...Object.values(provider.paths), provider.modelsPath ?? ''].flatMap((path) => {
    const [whole = ''] = path.split(/[?{]/, 1);
    const versioned = /^.*?\/v\d+(?:beta)?(?=\/)/.exec(whole)?.[0];
    return [...(versioned === undefined ? [] : [versioned]), ...(path === whole && whole.length > 1 ? [whole] : [])];
  });
  const sorted = [...new Set(found)].sort((a, b) => b.length - a.length);
  starts.set(provider, sorted);
  return sorted;
}

function rootOf(provider: Provider, base: string): string {
  const repeated = startsOf(provider).find((start) => base.endsWith(start));
  const root = repeated === undefined ? base : base.slice(0, -repeated.length);
  // A host may be called like the start of a path.
  return /^[a-z]+:\/\/[^/]/i.test(root) ? root : base;
}

// The text is put in by a function: `$&` in a name is no pattern.
const filled = (address: string, model: string, other: string): string =>
  !address.includes('{')
    ? address
    : address.replace('{model}', () => encodeURIComponent(model)).replace('{other}', () => encodeURIComponent(other));

/** A header that shows the key, and what stands before it. */
export interface KeyHeader {
  readonly name: string;
  readonly before: string;
}

/** @returns null for providers whose key signs the request instead. */
export const keyHeader = ({ auth }: Provider): KeyHeader | null =>
  auth.kind === 'bearer'
    ? { name: 'authorization', before: 'Bearer ' }
    : auth.kind === 'header'
      ? { name: auth.name, before: '' }
      : null;
