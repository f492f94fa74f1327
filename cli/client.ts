/** One way to call the gateway, three transports: a running server's local socket, a remote server, or the data directory itself. */

import { connect } from 'node:net';
import { checkSocketDir, dataDirFiles, lockOwner } from '../server/app/data-dir.ts';
import type { MigrationStep } from '../server/app/in-process.ts';
import type { InputOf, OutputOf } from '../server/contract/endpoint.ts';
import type { EndpointId, EndpointOf } from '../server/contract/endpoints/index.ts';
import type { Language } from '../server/contract/enum.ts';
import { AppError, isErrorCode } from '../server/contract/errors.ts';
import { networkWords } from '../server/contract/network-words.ts';

export interface Client {
  call<Id extends EndpointId>(id: Id, input?: Partial<InputOf<EndpointOf<Id>>>): Promise<OutputOf<EndpointOf<Id>>>;
  close(): Promise<void>;
}

/** What administrators see of everybody; to others, what is their own. */
export async function allOrOwn<Found>(all: () => Promise<Found>, own: () => Promise<Found>): Promise<Found> {
  try {
    return await all();
  } catch (error) {
    if (error instanceof AppError && error.code === 'role_too_low') return own();
    throw error;
  }
}

export interface ClientOptions {
  readonly dataDir: string;
  /** Address of a remote server; '' = the data directory. */
  readonly url: string;
  /** Access token and user of a remote server; '' = none. */
  readonly token: string;
  readonly userId: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly language: Language;
  readonly timeoutMs: number;
  /** What an upgrade of the data directory does meanwhile. */
  readonly migrating?: (step: MigrationStep) => void;
  /** Called with why what nodes that are gone have left could not be ended. */
  readonly notCollected?: (error: unknown) => void;
  /** Called with what was odd about the ledger's journal. */
  readonly onJournal?: (notice: Readonly<Record<Language, string>>) => void;
  /** Called for every HTTP call. */
  readonly trace?: (text: string) => void;
}

export async function openClient(options: ClientOptions): Promise<Client> {
  if (options.url !== '') return httpClient(options.url, remoteHeaders(options), undefined, options);
  const files = dataDirFiles(options.dataDir);
  checkSocketDir(files);
  const until = performance.now() + lockWaitMs;
  for (;;) {
    const owner = lockOwner(files);
    if (owner !== null && (await isListening(files.localSocket)))
      return httpClient('http://local', {}, files.localSocket, options);
    // Another command has the folder for a moment, or a server is about to listen.
    const late = performance.now() > until;
    if (owner !== null && late) throw new AppError('data_dir_locked', { dir: files.dir, pid: owner });
    if (owner === null) {
      try {
        return await openFolder(options);
      } catch (error) {
        if (late || !(error instanceof AppError) || error.code !== 'data_dir_locked') throw error;
      }
    }
    await Bun.sleep(lockPollMs);
  }
}

const lockWaitMs = 10_000;
const lockPollMs = 25;

/** Waits while another command holds the folder, not while a server holds it: then the caller reports that. */
export async function folderFree(dataDir: string): Promise<void> {
  const files = dataDirFiles(dataDir);
  checkSocketDir(files);
  const until = performance.now() + lockWaitMs;
  while (lockOwner(files) !== null && performance.now() < until && !(await isListening(files.localSocket)))
    await Bun.sleep(lockPollMs);
}

async function openFolder(options: ClientOptions): Promise<Client> {
  const { openDirect } = await import('../server/app/in-process.ts');
  const { language, migrating, notCollected, onJournal } = options;
  const direct = await openDirect(options.dataDir, options.env, {
    language,
    onMigration: migrating,
    onNotCollected: notCollected,
    onJournal,
  });
  return { call: async (id, input) => (await direct.call(id, input ?? {})) as never, close: direct.close };
}

/** A socket file may have outlived its server. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function remoteHeaders({ token, userId }: ClientOptions): Record<string, string> {
  return token === '' ? {} : { authorization: `Bearer ${token}`, 'new-api-user': userId };
}

function httpClient(
  base: string,
  headers: Record<string, string>,
  unix: string | undefined,
  { language, timeoutMs, trace }: ClientOptions,
): Client {
  return {
    close: () => Promise.resolve(),
    async call(id, input) {
      // With every schema of the API: most commands need it, serving does not.
      const { endpointById } = await import('../server/contract/endpoints/index.ts');
      const row = endpointById(id);
      if (row === undefined) throw new AppError('not_found', { what: id });
      const fields = { ...(input as Record<string, unknown> | undefined) };
      const path = row.path.replace(/:(\w+)/g, (_whole, name: string) => {
        const value = String(fields[name] ?? '');
        delete fields[name];
        return encodeURIComponent(value);
      });
      const reads = row.method === 'GET' || row.method === 'DELETE';
      const present = Object.entries(fields).filter(([, value]) => value !== undefined);
      const query =
        reads && present.length > 0
          ? `?${new URLSearchParams(present.map(([key, value]) => [key, String(value)]))}`
          : '';
      const startedAt = performance.now();
      const response = await sendRequest(`${base.replace(/\/$/, '')}${path}${query}`, {
        method: row.method,
        headers: { ...headers, 'accept-language': language, ...(reads ? {} : { 'content-type': 'application/json' }) },
        ...(reads ? {} : { body: JSON.stringify(fields) }),
        ...(unix === undefined ? {} : { unix }),
        signal: AbortSignal.timeout(timeoutMs),
      } as RequestInit);
      trace?.(`${row.method} ${path} ${response.status} ${(performance.now() - startedAt).toFixed(0)} ms`);
      return unwrap(response, row.envelope === 'raw') as Promise<never>;
    },
  };
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

/** Something answers there that is no gateway. */
const noGateway = (response: Response): AppError => {
  const place = `${originOf(response.url)}, HTTP ${response.status}`;
  return new AppError('server_unreachable', {
    detail: place,
    detail_zh: `${place}：该地址不是 gateway`,
    detail_en: `${place}: no gateway answers there`,
  });
};

async function sendRequest(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const { zh, en } = networkWords(error);
    const place = url.startsWith('http://local/') ? '' : `${originOf(url)}: `;
    throw new AppError(
      'server_unreachable',
      { detail: place + en, detail_zh: place.replace(': ', '：') + zh, detail_en: place + en },
      error,
    );
  }
}

async function unwrap(response: Response, raw: boolean): Promise<unknown> {
  const body = (await response.json().catch(() => null)) as {
    success?: boolean;
    message?: string;
    code?: string;
    params?: Record<string, string>;
    data?: unknown;
  } | null;
  if (body === null || typeof body !== 'object') throw noGateway(response);
  if (raw && body.code === undefined && response.ok) return body;
  if (body.success === true) return body.data;
  // Every refusal of a gateway has a message.
  if (typeof body.message !== 'string' && body.code === undefined) throw noGateway(response);
  const code = body.code !== undefined && isErrorCode(body.code) ? body.code : 'internal';
  throw new AppError(code, body.params ?? { detail: body.message ?? '', what: body.message ?? '' });
}
