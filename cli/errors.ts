/** Failures as people and programs read them. */

import type { Language } from '../server/contract/enum.ts';
import { AppError, type ErrorCode, formatError } from '../server/contract/errors.ts';
import { textIn } from '../server/contract/language.ts';
import { safeJson, safeText } from '../server/contract/safe-text.ts';
import { failure } from './color.ts';

interface Fix {
  readonly zh: string;
  readonly en: string;
  /** Topic of `gateway help`. */
  readonly topic?: string;
}

/** The next step, where there is one that always helps. */
const hints: Partial<Readonly<Record<ErrorCode, Fix>>> = {
  setup_needed: { zh: 'gateway setup', en: 'gateway setup' },
  login_required: {
    zh: '设置 GATEWAY_TOKEN，或运行 gateway login URL --token-stdin',
    en: 'set GATEWAY_TOKEN, or run gateway login URL --token-stdin',
    topic: 'remote',
  },
  access_token_invalid: {
    zh: '在控制台生成新的访问令牌',
    en: 'make a new access token in the console',
    topic: 'remote',
  },
  server_unreachable: {
    zh: '检查 --url，或用 gateway serve 启动服务',
    en: 'check --url, or start the server: gateway serve',
    topic: 'remote',
  },
  take_over_refused: {
    zh: '先停止该进程，再不带 --take-over 启动',
    en: 'stop that process, then start without --take-over',
  },
  data_dir_locked: { zh: '先停止该进程，或换用 --data-dir', en: 'stop that process first, or use another --data-dir' },
  outbox_locked: { zh: '为本节点的 GATEWAY_OUTBOX 指定另一个目录', en: 'give this node another GATEWAY_OUTBOX' },
  outbox_unusable: {
    zh: '在 GATEWAY_OUTBOX 所在磁盘上腾出空间，或另外指定目录',
    en: 'make room on the disk of GATEWAY_OUTBOX, or name another directory',
  },
  port_taken: { zh: '换一个端口，例如 --port 3001', en: 'use another port, such as --port 3001' },
  listen_refused: {
    zh: '换用 --host 127.0.0.1 或 --port 3000',
    en: 'use another --host or --port, such as --host 127.0.0.1 --port 3000',
  },
  database_corrupt: { zh: 'gateway backup restore FILE', en: 'gateway backup restore FILE' },
  secret_unreadable: {
    zh: '恢复原来的 secret.key，或设置 GATEWAY_SECRET_KEY',
    en: 'put the original secret.key back, or set GATEWAY_SECRET_KEY',
  },
  option_unknown: { zh: 'gateway option list', en: 'gateway option list' },
  name_ambiguous: { zh: '改用编号', en: 'use the id' },
  model_price_unset: { zh: 'gateway ratios set ModelRatio 模型=倍率', en: 'gateway ratios set ModelRatio MODEL=RATIO' },
};

const words = {
  error: { zh: '错误：', en: 'error: ' },
  fix: { zh: '处理：', en: 'fix: ' },
  usage: { zh: '用法：', en: 'usage: ' },
  example: { zh: '例如：', en: 'for example: ' },
  see: { zh: '参见：', en: 'see: ' },
} as const;

/** In the reader's language, where it is one of ours. */
export const messageOf = (error: unknown, language: Language): string =>
  error instanceof AppError
    ? formatError(error.code, error.params, language)
    : error instanceof Error
      ? error.message
      : String(error);

/** What the system says of a file, as an error of ours. */
function ofFile(error: unknown): unknown {
  const { code, path } = Object(error) as { readonly code?: unknown; readonly path?: unknown };
  if (error instanceof AppError || typeof path !== 'string' || path === '') return error;
  if (code === 'ENOENT') return new AppError('not_found', { what: path }, error);
  const words: Readonly<Record<string, Fix>> = {
    EISDIR: { zh: '是一个目录', en: 'it is a directory' },
    ENOTDIR: { zh: '路径中有一段不是目录', en: 'a part of its path is not a directory' },
    EACCES: { zh: '没有权限', en: 'permission denied' },
    EPERM: { zh: '没有权限', en: 'permission denied' },
  };
  const found = typeof code === 'string' ? words[code] : undefined;
  if (found === undefined) return error;
  const [zh, en] = [`${path}：${found.zh}`, `${path}: ${found.en}`];
  return new AppError('usage', { detail: en, detail_zh: zh, detail_en: en }, error);
}

/** @returns the exit code. */
export function printError(
  thrown: unknown,
  language: Language,
  { json, debug, color }: { readonly json: boolean; readonly debug: boolean; readonly color: boolean },
  write: (text: string) => void,
): number {
  const error = ofFile(thrown);
  const known = error instanceof AppError ? error : null;
  const code = known?.code ?? 'internal';
  const message = messageOf(error, language);
  const { example, usage, ...details } = known?.params ?? {};
  const fix = hints[code];
  const hint = example === undefined ? fix && textIn(fix, language) : String(example);
  if (json) {
    write(
      `${safeJson({ error: { code, message, ...(hint === undefined ? {} : { hint }), ...(usage === undefined ? {} : { usage }), details } })}\n`,
    );
  } else {
    const say = (name: keyof typeof words) => textIn(words[name], language);
    const [mark = '', gap = ''] = say('error').split(/(?= $)/);
    // That there are differences is an answer and no failure.
    const head = code === 'differences' ? '' : `${color ? failure(mark) : mark}${gap}`;
    write(`${head}${safeText(message)}\n`);
    if (usage !== undefined) write(`  ${say('usage')}${safeText(String(usage))}\n`);
    if (hint !== undefined) write(`  ${say(usage === undefined ? 'fix' : 'example')}${safeText(hint)}\n`);
    if (fix?.topic !== undefined) write(`  ${say('see')}gateway help ${fix.topic}\n`);
  }
  if (debug && error instanceof Error) write(`${safeText(error.stack ?? '')}\n`);
  return known?.row.exit ?? 1;
}
