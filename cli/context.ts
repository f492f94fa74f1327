/** What a command works with; everything costly is made when first asked for. */
import { readFileSync } from 'node:fs';
import { resolveDataDir } from '../server/app/data-dir.ts';
import type { Language } from '../server/contract/enum.ts';
import { AppError } from '../server/contract/errors.ts';
import { languageNamed } from '../server/contract/language.ts';
import { localizer } from '../server/contract/plural.ts';
import { safeText } from '../server/contract/safe-text.ts';
import { type Client, type ClientOptions, openClient } from './client.ts';
import { currentContext } from './contexts.ts';
import { messageOf } from './errors.ts';
import { createOutput, type Format, formats, type Output, type Shape, type Streams } from './output.ts';
import { headingOf } from './parts/chinese-lists.ts';
import { MigrationLines } from './parts/migration-lines.ts';
import { withProgress } from './parts/progress.ts';
import { drawsUnicode, withMarks } from './parts/state-marks.ts';
import { ago } from './parts/when.ts';
import { askLine, readAll } from './prompt.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface GlobalFlags {
  /** '' = every field. */
  readonly json?: string | true;
  readonly jq?: string;
  readonly output?: string;
  readonly columns?: string;
  readonly quiet?: boolean;
  readonly header?: boolean;
  readonly wide?: boolean;
  readonly dataDir?: string;
  readonly database?: string;
  readonly url?: string;
  readonly context?: string;
  readonly tokenStdin?: boolean;
  readonly lang?: string;
  readonly yes?: boolean;
  readonly nonInteractive?: boolean;
  readonly timeout?: string;
  readonly debug?: boolean;
  readonly verbose?: boolean;
}

export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Context {
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly language: Language;
  readonly output: Output;
  readonly dataDir: string;
  /** Address of a remote server, '' = the data directory. */
  readonly url: string;
  /** There is a token for that address: from a flag, the environment or a login. */
  readonly signedIn: boolean;
  client(): Promise<Client>;
  /** True when a question may be asked. */
  readonly interactive: boolean;
  /** True when a screen may be drawn: a terminal that can move its cursor. */
  readonly screens: boolean;
  /** The words of the reader's language. */
  say(zh: string, en: string): string;
  /** Says why what nodes that are gone have left could not be ended. */
  notCollected(error: unknown): void;
  /** Says what was odd about the ledger's journal. */
  onJournal(notice: Readonly<Record<Language, string>>): void;
  /** @returns the whole of standard input without its last line end. @throws AppError input_needed after 30 s of silence. */
  readSecret(flag: string): Promise<string>;
  /** A secret given by `--<name>-stdin`, `--<name>-file` or the environment; undefined when none was. @throws AppError usage for an empty one. */
  secret(flags: Readonly<Record<string, unknown>>, name: string, variable: string): Promise<string | undefined>;
  /** One line from the terminal. @throws AppError cancelled, input_needed. */
  ask(question: string, how?: { readonly hidden?: boolean; readonly list?: boolean }): Promise<string>;
  /** The same promise, with a sign of life while it takes its time: a spinner on a terminal, else a line now and then. @param doing what is done at the moment. */
  during<Result>(work: Promise<Result>, doing?: () => string): Promise<Result>;
  /** This command as one line with other flags: what would have done the same. */
  line(values: FlagValues): string;
  /** Says so. @param input what standard input reads. */
  noteLine(values: FlagValues, input?: string): void;
  /** Asks before something destructive. @throws AppError cancelled, input_needed. */
  confirm(question: string): Promise<void>;
  /** A later call opens it again. */
  close(): Promise<void>;
}

/** An address with a password may lie in a file, as containers and units hand secrets over. @throws AppError usage */
function withDatabase(flag: string | undefined, environment: Environment): Environment {
  if (flag !== undefined) return { ...environment, DATABASE_URL: flag };
  const { DATABASE_URL: url, DATABASE_URL_FILE: file } = environment;
  if (url || !file) return environment;
  try {
    return { ...environment, DATABASE_URL: readFileSync(file, 'utf8').trim() };
  } catch (error) {
    throw new AppError('usage', { detail: `DATABASE_URL_FILE ${file}: ${(error as { code?: string }).code ?? ''}` });
  }
}

export function createContext(
  flags: GlobalFlags,
  environment: Environment,
  streams: Streams,
  stdin: NodeJS.ReadStream,
  line: (values: FlagValues) => string,
): Context {
  const env = withDatabase(flags.database, environment);
  const language = languageOf(flags.lang, env);
  const output = createOutput(
    streams,
    shapeOf(flags),
    (cell) => ago(cell, Date.now(), language),
    (cells, column) => withMarks(cells, column, drawsUnicode(env), language),
    (name) => headingOf(name, language),
  );
  const interactive =
    stdin.isTTY === true &&
    process.stderr.isTTY === true &&
    flags.nonInteractive !== true &&
    flags.json === undefined &&
    !env.CI &&
    !env.GATEWAY_NO_INPUT;
  const dataDir = resolveDataDir(flags.dataDir, env, process.cwd());
  const remote = remoteOf(flags, env);
  const say = localizer(language);
  let client: Promise<Client> | null = null;

  const ask: Context['ask'] = (question, { hidden = false, list = false } = {}) => {
    if (!interactive) throw new AppError('input_needed', { flags: question });
    return askLine(stdin, process.stderr, safeText(question), hidden, list);
  };

  /** @returns the text and where it came from, '' = no flag and no file. */
  const secretFrom = async (
    values: Readonly<Record<string, unknown>>,
    name: string,
    variable: string,
  ): Promise<readonly [text: string, from: string]> => {
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (values[`${name}Stdin`] === true) return [await readAll(stdin, `--${flag}-stdin`), `--${flag}-stdin`];
    const named = values[`${name}File`];
    const file = named ?? env[`${variable}_FILE`];
    if (typeof file !== 'string') return ['', ''];
    const from = named === undefined ? `${variable}_FILE` : `--${flag}-file ${file}`;
    return [file === '-' ? await readAll(stdin, from) : readFileSync(file, 'utf8').replace(/\r?\n$/, ''), from];
  };

  const notCollected = (error: unknown): void => {
    const why = messageOf(error, language);
    output.note(
      say(
        `已停止的节点留下的未结请求未能结清：${why}。下一条命令会再试`,
        `what stopped nodes have left open could not be ended: ${why}. The next command tries again`,
      ),
    );
  };

  const onJournal: Context['onJournal'] = ({ zh, en }) => output.note(say(zh, en));

  return {
    flags,
    env,
    language,
    output,
    dataDir,
    url: remote.url,
    signedIn: remote.token !== '' || flags.tokenStdin === true,
    interactive,
    screens: interactive && streams.outIsTty && env.TERM !== 'dumb' && !env.ACCESSIBLE && !env.GATEWAY_ACCESSIBLE,
    say,
    notCollected,
    onJournal,
    client() {
      const options = async (): Promise<ClientOptions> => ({
        dataDir,
        ...remote,
        ...(flags.tokenStdin === true ? { token: await readAll(stdin, '--token-stdin') } : {}),
        env,
        language,
        timeoutMs: secondsOf(flags.timeout) * 1000,
        migrating: new MigrationLines(say, output.note).report,
        notCollected,
        onJournal,
        ...(flags.debug === true || flags.verbose === true ? { trace: output.note } : {}),
      });
      client ??= options().then(openClient);
      return client;
    },
    readSecret: (flag) => readAll(stdin, flag),
    async secret(values, name, variable) {
      const [environment, from] = await secretFrom(values, name, variable);
      if (from === '' || environment.trim() !== '') return from === '' ? env[variable] || undefined : environment;
      throw new AppError('usage', {
        detail: from,
        detail_zh: `${from}：没有收到内容，未作修改`,
        detail_en: `${from}: it is empty, nothing was changed`,
      });
    },
    ask,
    during: (work, doing = () => say('进行中', 'working')) =>
      withProgress(work, {
        write: (text) => void (streams.draws?.err ?? streams.err.write)(text),
        isTty: process.stderr.isTTY === true && env.TERM !== 'dumb' && !env.ACCESSIBLE && !env.GATEWAY_ACCESSIBLE,
        silent: flags.quiet === true,
        word: doing,
      }),
    line,
    noteLine(values, input) {
      const end = input === undefined ? '' : ` < ${input}`;
      output.note(`${say('同样的命令：', 'the same as one command:')}\n  ${line(values)}${end}`);
    },
    async confirm(question) {
      if (flags.yes === true) return;
      if (!interactive) throw new AppError('input_needed', { flags: '--yes' });
      const answer = await ask(`${question} [y/N] `);
      if (!/^(y|yes|是)$/i.test(answer.trim())) throw new AppError('cancelled');
    },
    async close() {
      const open = client;
      client = null;
      await (await open?.catch(() => null))?.close();
    },
  };
}

/** Flag, then environment, then the last login, which a data directory that is named by its flag wins over. */
function remoteOf(flags: GlobalFlags, env: Environment): Pick<ClientOptions, 'url' | 'token' | 'userId'> {
  const environment = flags.url ?? env.GATEWAY_URL;
  // An address that came out empty is a mistake, and not this machine.
  if (flags.url === undefined && flags.context === undefined && env.GATEWAY_URL?.trim() === '')
    throw new AppError('usage', {
      detail: 'GATEWAY_URL',
      detail_zh: 'GATEWAY_URL 已设置但为空；如需使用本机，请取消设置',
      detail_en: 'GATEWAY_URL is set and empty; unset it to use this machine',
    });
  const own = { token: env.GATEWAY_TOKEN ?? '', userId: env.GATEWAY_USER ?? '1' };
  if (environment !== undefined && flags.context === undefined) return { url: environment, ...own };
  const isNamed = flags.context !== undefined || env.GATEWAY_CONTEXT !== undefined;
  const isHere = flags.dataDir !== undefined || flags.database !== undefined;
  const stored = isHere && !isNamed ? null : currentContext(env, flags.context);
  if (stored === null) return { url: '', ...own };
  return { url: stored.url, token: env.GATEWAY_TOKEN ?? stored.token, userId: env.GATEWAY_USER ?? String(stored.user) };
}

function shapeOf(flags: GlobalFlags): Shape {
  const { json, jq, quiet } = flags;
  const format: Format =
    json !== undefined || jq !== undefined ? 'json' : quiet === true ? 'id' : formatOf(flags.output);
  return {
    format,
    ...(json === undefined || json === '' || json === true ? {} : { fields: json.split(',') }),
    ...(jq === undefined ? {} : { query: jq }),
    ...(flags.columns === undefined ? {} : { columns: flags.columns.split(',') }),
    header: flags.header !== false,
    wide: flags.wide === true,
  };
}

function formatOf(name: string | undefined): Format {
  const found = name === undefined ? 'table' : formats.find((format) => format === name);
  if (found === undefined) throw new AppError('usage', { detail: `--output ${name}: ${formats.join(', ')}` });
  return found;
}

function secondsOf(text: string | undefined): number {
  const seconds = Number((text ?? '60').replace(/s$/, ''));
  if (!Number.isFinite(seconds) || seconds <= 0) throw new AppError('usage', { detail: '--timeout' });
  return seconds;
}

export function languageOf(flag: string | undefined, env: Environment): Language {
  // An empty variable is one that is not set.
  const locale = flag ?? (env.GATEWAY_LANG || env.LC_ALL || env.LC_MESSAGES || env.LANG || '');
  return languageNamed(locale.replace(/[_.].*/, '')) ?? 'en';
}
