/**
 * Calls to addresses that users or upstreams chose: webhooks, discovery documents, price lists, pictures.
 * The name is resolved once, every answer must be public, the checked answer is the one that is dialled, and no redirect is followed.
 */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { AppError } from '../contract/errors.ts';
import { isPublicAddress } from './addresses.ts';

// The bare name is a stand-in of the runtime whose agents do nothing. Loaded with the first call: a start need not wait for it.
type Undici = typeof import('undici/index.js');
const undici = (): Promise<Undici> => import('undici/index.js');

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

interface Answer {
  readonly address: string;
  readonly family: number;
}

export interface GuardOptions {
  readonly resolve?: (host: string) => Promise<readonly Answer[]>;
  readonly isAllowed?: (address: string) => boolean;
  /** `https:` alone where users choose; operators may also use `http:`. */
  readonly schemes?: readonly string[];
  /** Certificates to trust besides the system's. */
  readonly ca?: string;
  /** Which fetch carries the calls; the self-test must notice one that ignores its agent. */
  readonly carrier?: Undici['fetch'];
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

const timeoutMs = 10_000;
const refusal = (host: string) => new AppError('address_forbidden', { host });

/** @returns a fetch that throws AppError address_forbidden, address_redirects. */
export function createGuard(options: GuardOptions = {}): Fetch {
  const isAllowed = options.isAllowed ?? isPublicAddress;
  const resolve = options.resolve ?? ((host: string) => lookup(host, { all: true }));
  const schemes = options.schemes ?? ['https:', 'http:'];

  const checked = async (host: string): Promise<readonly Answer[]> => {
    const answers = await resolve(host);
    if (answers.length === 0 || !answers.every(({ address }) => isAllowed(address))) throw refusal(host);
    return answers;
  };
  const guardedLookup: LookupFunction = (host, { all }, callback) => {
    checked(host).then(
      (answers) => {
        const [first] = answers;
        if (all) callback(null, answers as { address: string; family: number }[]);
        else callback(null, first?.address ?? '', first?.family ?? 0);
      },
      (error: Error) => callback(error, '', 0),
    );
  };
  const ca = options.ca === undefined ? {} : { ca: options.ca };
  const wired = once(async () => {
    const { Agent, fetch } = await undici();
    const agent = new Agent({
      connect: { timeout: timeoutMs, ...ca, lookup: guardedLookup },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    return { carrier: options.carrier ?? fetch, agent };
  });

  return async (address, init = {}) => {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || !schemes.includes(url.protocol) || url.username !== '' || url.password !== '')
      throw refusal(address.slice(0, 100));
    // A literal address is dialled without asking the resolver.
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) !== 0 && !isAllowed(literal)) throw refusal(url.hostname);
    const { carrier, agent } = await wired();
    let response: Response;
    try {
      response = (await carrier(url, {
        ...(init as object),
        redirect: 'manual',
        dispatcher: agent,
      })) as unknown as Response;
    } catch (error) {
      throw causeOf(error) ?? error;
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new AppError('address_redirects', { host: url.host });
    }
    return response;
  };
}

/** The transport wraps what the resolver threw. */
function causeOf(error: unknown): AppError | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) if (inner instanceof AppError) return inner;
  return null;
}

/**
 * Proves that calls pass the guard: a name that resolves to loopback must be refused by it and by nothing else.
 * @throws Error when they do not; then nothing may be started.
 */
export async function verifyGuard(carrier?: GuardOptions['carrier']): Promise<void> {
  const call = createGuard({
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    ...(carrier === undefined ? {} : { carrier }),
  });
  const outcome = await call('http://guard-self-test.invalid/').then(
    () => null,
    (error: unknown) => error,
  );
  if (!(outcome instanceof AppError) || outcome.code !== 'address_forbidden')
    throw new Error('outbound calls do not pass the address guard', { cause: outcome });
}

/** Once a process. @throws Error like `verifyGuard`. */
export const guardVerified = once(() => verifyGuard());

/** A guard whose calls wait for the proof: while it fails, none of them leaves. */
export function createVerifiedGuard(options: GuardOptions = {}): Fetch {
  const call = createGuard(options);
  return async (url, init) => {
    await guardVerified();
    return call(url, init);
  };
}
