/** Remote gateways one has logged in to, in a 0600 file under the user's configuration folder. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../server/contract/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface StoredContext {
  readonly url: string;
  readonly token: string;
  readonly user: number;
  /** Name of the user as whom programs are signed in; absent = none is, and `token` is an access token. */
  readonly signedIn?: string;
}

export interface Contexts {
  /** '' = the data directory of this machine. */
  readonly current: string;
  readonly contexts: Readonly<Record<string, StoredContext>>;
}

const none: Contexts = { current: '', contexts: {} };

export const configFolder = (env: Environment): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME ?? '.', '.config'), 'gateway');

const fileOf = (env: Environment): string => join(configFolder(env), 'contexts.json');

export function readContexts(env: Environment): Contexts {
  const file = fileOf(env);
  if (!existsSync(file)) return none;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new AppError('usage', { detail: `${file} is not JSON` });
  }
  if (!isContexts(content)) throw new AppError('usage', { detail: `${file} does not list gateways` });
  return content;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whoever edits it by hand, or whatever cut it off. */
const isContexts = (value: unknown): value is Contexts =>
  isObject(value) &&
  typeof value.current === 'string' &&
  isObject(value.contexts) &&
  Object.values(value.contexts).every(isContext);

const isContext = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.url === 'string' &&
  typeof value.token === 'string' &&
  typeof value.user === 'number' &&
  (value.signedIn === undefined || typeof value.signedIn === 'string');

export function writeContexts(env: Environment, contexts: Contexts): void {
  const file = fileOf(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}

/** The one named by `--context`, GATEWAY_CONTEXT or the last `login`; null = this machine. @throws AppError not_found */
export function currentContext(env: Environment, flag: string | undefined): StoredContext | null {
  const { current, contexts } = readContexts(env);
  const name = flag ?? env.GATEWAY_CONTEXT ?? current;
  if (name === '') return null;
  const found = contexts[name];
  if (found === undefined) throw new AppError('not_found', { what: `context ${name}` });
  return found;
}
