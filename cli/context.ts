/** What a command works with; everything costly is made when first asked for. */
import type { Language } from '../server/contract/enums.ts';
import { AppError } from '../server/contract/errors.ts';
import { resolveDataDir } from '../server/data-dir.ts';
import { type Client, openClient } from './client.ts';
import { createOutput, type Format, type Output, type Streams } from './output.ts';

export interface GlobalFlags {
  readonly json?: boolean;
  readonly output?: string;
  readonly quiet?: boolean;
  readonly dataDir?: string;
  readonly url?: string;
  readonly lang?: string;
  readonly yes?: boolean;
  readonly nonInteractive?: boolean;
  readonly timeout?: string;
}

export interface Context {
  readonly flags: GlobalFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly language: Language;
  readonly output: Output;
  readonly dataDir: string;
  client(): Promise<Client>;
  /** True when a question may be asked. */
  readonly interactive: boolean;
  /** @returns the whole of standard input without its last line end. @throws AppError input_needed after 30 s of silence. */
  readSecret(flag: string): Promise<string>;
  /** Asks before something destructive. @throws AppError cancelled, input_needed. */
  confirm(question: string): Promise<void>;
  close(): Promise<void>;
}

const silenceMs = 30_000;

export function createContext(
  flags: GlobalFlags,
  env: Readonly<Record<string, string | undefined>>,
  streams: Streams,
  stdin: NodeJS.ReadStream,
): Context {
  const format: Format = flags.json ? 'json' : flags.quiet ? 'id' : formatOf(flags.output);
  const output = createOutput(streams, format);
  const interactive =
    stdin.isTTY === true &&
    streams.outIsTty &&
    flags.nonInteractive !== true &&
    flags.json !== true &&
    !env.CI &&
    !env.GATEWAY_NO_INPUT;
  const dataDir = resolveDataDir(flags.dataDir, env, process.cwd());
  let client: Promise<Client> | null = null;

  return {
    flags,
    env,
    language: languageOf(flags.lang, env),
    output,
    dataDir,
    interactive,
    client() {
      client ??= openClient({
        dataDir,
        url: flags.url ?? env.GATEWAY_URL ?? '',
        env,
        timeoutMs: secondsOf(flags.timeout) * 1000,
      });
      return client;
    },
    readSecret: (flag) => readAll(stdin, flag),
    async confirm(question) {
      if (flags.yes === true) return;
      if (!interactive) throw new AppError('input_needed', { flags: '--yes' });
      process.stderr.write(`${question} [y/N] `);
      const answer = await new Promise<string>((resolve) => stdin.once('data', (data) => resolve(String(data))));
      stdin.pause();
      if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('cancelled');
    },
    async close() {
      await (await client)?.close();
    },
  };
}

function formatOf(name: string | undefined): Format {
  if (name === undefined || name === 'table') return 'auto';
  if (name === 'json' || name === 'jsonl' || name === 'id') return name;
  throw new AppError('usage', { detail: `--output ${name}: table, json, jsonl, id` });
}

function secondsOf(text: string | undefined): number {
  const seconds = Number((text ?? '60').replace(/s$/, ''));
  if (!Number.isFinite(seconds) || seconds <= 0) throw new AppError('usage', { detail: '--timeout' });
  return seconds;
}

export function languageOf(flag: string | undefined, env: Readonly<Record<string, string | undefined>>): Language {
  const wanted = flag ?? env.GATEWAY_LANG ?? env.LC_ALL ?? env.LC_MESSAGES ?? env.LANG ?? '';
  return wanted.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

function readAll(stdin: NodeJS.ReadStream, flag: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => {
      stdin.destroy();
      reject(new AppError('input_needed', { flags: `${flag} (nothing arrived on standard input)` }));
    }, silenceMs);
    stdin.setEncoding('utf8');
    stdin.on('data', (chunk) => {
      text += String(chunk);
    });
    stdin.once('end', () => {
      clearTimeout(timer);
      resolve(text.replace(/\r?\n$/, ''));
    });
    stdin.once('error', reject);
  });
}
