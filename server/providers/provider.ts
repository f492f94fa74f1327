/** What a provider row says, and what follows from it. */
import type { ProtocolId } from '../protocols/canonical.ts';

export type Auth =
  | { readonly kind: 'bearer' }
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'none' };

export interface Provider {
  /** Channel type number of the wire contract. */
  readonly type: number;
  readonly slug: string;
  readonly label: { readonly zh: string; readonly en: string };
  readonly protocol: ProtocolId;
  /** Used when the channel names none; '' = the channel must name one. */
  readonly baseUrl: string;
  readonly auth: Auth;
  /** Path per operation, below the base URL. An operation without a path is not served. */
  readonly paths: Readonly<Record<string, string>>;
  /** Where the models it offers are listed, below the base URL. */
  readonly modelsPath: string | null;
  /** Shape of the key as a hint for people. */
  readonly keyHint: string;
  /** Default models. */
  readonly models: readonly string[];
}

export interface EndpointFacts {
  readonly baseUrl: string;
  readonly model: string;
  readonly other: string;
}

/** @returns the address of an operation, or null when the provider does not serve it. */
export function endpointFor(provider: Provider, operation: string, facts: EndpointFacts): string | null {
  const path = provider.paths[operation];
  const base = (facts.baseUrl === '' ? provider.baseUrl : facts.baseUrl).replace(/\/$/, '');
  if (path === undefined || base === '') return null;
  // People paste addresses with the version in them; doubling it would break every request.
  const clean = base.endsWith('/v1') && path.startsWith('/v1/') ? base.slice(0, -3) : base;
  return clean + path.replace('{model}', encodeURIComponent(facts.model));
}

export function authHeaders(provider: Provider, key: string, organization: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (provider.auth.kind === 'bearer') headers.authorization = `Bearer ${key}`;
  if (provider.auth.kind === 'header') headers[provider.auth.name] = key;
  if (organization !== '') headers['openai-organization'] = organization;
  return headers;
}
