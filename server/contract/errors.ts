/** Every error a person or program can receive is a row here; code throws `AppError(code, params)` and the edges render it. */

import type { Language } from './enum.ts';
import { catalogueErrors } from './errors/catalogue.ts';
import { admissionErrors } from './errors/limit.ts';
import { relayingErrors } from './errors/relay.ts';
import type { ErrorRow } from './errors/row.ts';
import { signInErrors } from './errors/sign-in.ts';
import { terminalErrors } from './errors/terminal.ts';
import { usersErrors } from './errors/users.ts';
import { walletErrors } from './errors/wallet.ts';
import { textIn } from './language.ts';
import { singular } from './plural.ts';
import { reasonIn } from './storage-reasons.ts';
import { waitIn } from './wait.ts';

/** Placeholders are {name}; texts in Chinese are the specification's own wording. */
export const errors = {
  ...admissionErrors,
  ...relayingErrors,
  ...signInErrors,
  ...usersErrors,
  ...catalogueErrors,
  ...walletErrors,
  ...terminalErrors,
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errors;
export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errors, code);

export type ErrorParams = Readonly<Record<string, string | number>>;

/** The one error that is thrown on purpose. `cause` is for our own log only and never reaches a client. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly params: ErrorParams;
  constructor(code: ErrorCode, params: ErrorParams = {}, cause?: unknown) {
    super(formatError(code, params, 'en'), cause === undefined ? undefined : { cause });
    this.name = 'AppError';
    this.code = code;
    this.params = params;
  }
  get row(): ErrorRow {
    return errors[this.code];
  }
}

/** What things are called where a message names one of them by its number or name. */
const nouns: Readonly<Record<string, string>> = {
  channel: '渠道',
  token: '令牌',
  user: '用户',
  redemption: '兑换码',
  group: '分组',
  log: '日志',
  tag: '标签',
  key: '密钥',
  drawing: '绘图任务',
  task: '任务',
};

/** Names that are written otherwise in English. */
const brands: Readonly<Record<string, string>> = { 微信: 'WeChat' };

const inChinese = (what: string): string =>
  what.replace(/^[a-z]+(?= |$)/, (noun) => (Object.hasOwn(nouns, noun) ? (nouns[noun] ?? noun) : noun));

/** Text of an error in one language, placeholders filled in. */
export function formatError(code: ErrorCode, params: ErrorParams, language: Language): string {
  const text = textIn(errors[code], language).replace(/\{(\w+)\}/g, (whole, name: string) => {
    // Words that were made in both languages.
    // A reason follows what was said, where there is one.
    const made =
      name === 'wait' ? waitIn(Number(params.seconds), language) : params[`${name}_${language === 'zh' ? 'zh' : 'en'}`];
    const value = String(made ?? params[name] ?? (name === 'reason' ? '' : whole));
    if (language !== 'zh')
      return textIn({ zh: '', en: Object.hasOwn(brands, value) ? (brands[value] ?? value) : value }, language);
    return name === 'what' ? inChinese(value) : name === 'reason' ? reasonIn(value, language) : value;
  });
  return language === 'en' ? singular(text) : text;
}
