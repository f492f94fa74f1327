/** Clients that record every response: the other side of the ledger. */

import { type Account, call } from './people.ts';
import type { Random } from './random.ts';
import { unit } from './site.ts';

/** The response to one request. */
export interface CallResult {
  readonly account: Account;
  readonly sentAt: number;
  /** Infinity = there was no response. */
  endedAt: number;
  firstByteMs: number;
  /** 0 = the connection broke. */
  status: number;
  /** The client itself went away. */
  readonly left: boolean;
  ref: string;
  /** The answer came to its end. */
  whole: boolean;
  /** By the usage the answer itself reports. */
  cost: number;
  /** Of an error. */
  code: string;
  words: string;
  /** More than this no request of its kind holds. */
  readonly max: number;
}

export interface Credit {
  readonly account: Account;
  readonly code: string;
  readonly quota: number;
  confirmedAt: number;
}

export interface Question {
  readonly model?: 'practice-small' | 'practice-large';
  readonly stream?: boolean;
  /** Milliseconds after which the client leaves. */
  readonly leaveAfter?: number;
  readonly content?: string;
}

const timeoutMs = 90_000;
const tokensOf = { 'practice-small': 8, 'practice-large': 40 } as const;
/** Beyond the bytes of its body nothing of a request is counted. */
const marginTokens = 64;

export function bodyOf({ model = 'practice-small', stream = false, content = 'hi' }: Question): string {
  const messages = [{ role: 'user', content }];
  const usage = stream ? { stream_options: { include_usage: true } } : {};
  return JSON.stringify({ model, stream, max_tokens: tokensOf[model], messages, ...usage });
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const costOf = (usage: Usage | undefined): number =>
  usage === undefined ? 0 : unit * (usage.prompt_tokens + usage.completion_tokens);

function readAnswer(results: CallResult, text: string, stream: boolean): void {
  if (results.status !== 200) {
    const error = parsed<{ error?: { code?: string; type?: string; message?: string } }>(text)?.error;
    results.code = String(error?.code ?? error?.type ?? 'unreadable');
    results.words = String(error?.message ?? text.slice(0, 200));
    return;
  }
  const last = stream ? (/data: (\{[^\n]*"usage":\{[^\n]*)\n\ndata: \[DONE\]\n\n$/.exec(text)?.[1] ?? '') : text;
  const usage = parsed<{ usage?: Usage }>(last)?.usage;
  results.whole = usage !== undefined;
  results.cost = costOf(usage);
  if (!results.whole) results.words = text.slice(-200);
}

function parsed<Shape>(text: string): Shape | null {
  try {
    return JSON.parse(text) as Shape;
  } catch {
    return null;
  }
}

export async function askOnce(url: string, account: Account, question: Question = {}): Promise<CallResult> {
  const body = bodyOf(question);
  const results: CallResult = {
    account,
    sentAt: performance.now(),
    endedAt: Number.POSITIVE_INFINITY,
    firstByteMs: 0,
    status: 0,
    left: question.leaveAfter !== undefined,
    ref: '',
    whole: false,
    cost: 0,
    code: '',
    words: '',
    max: unit * (Buffer.byteLength(body) + marginTokens + tokensOf[question.model ?? 'practice-small']),
  };
  return fill(results, url, body, question);
}

async function fill(
  results: CallResult,
  url: string,
  body: string,
  { stream = false, leaveAfter }: Question,
): Promise<CallResult> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${results.account.key}`, 'content-type': 'application/json' },
      body,
      keepalive: false,
      signal: AbortSignal.timeout(leaveAfter ?? timeoutMs),
    });
    results.firstByteMs = performance.now() - results.sentAt;
    results.ref = response.headers.get('x-oneapi-request-id') ?? '';
    results.status = response.status;
    readAnswer(results, await response.text(), stream);
  } catch (error) {
    results.words = String(error);
    if (!results.whole) results.status = 0;
  }
  results.endedAt = performance.now();
  return results;
}

export interface Traffic {
  readonly results: readonly CallResult[];
  readonly credits: readonly Credit[];
  /** Refusals for money that the balance could carry, in words. */
  readonly unexpected: readonly string[];
  /** Ends when everything open has ended. */
  stop(): Promise<void>;
}

export interface TrafficOrder {
  readonly url: string;
  readonly accounts: readonly Account[];
  readonly poor: readonly Account[];
  readonly codes: string[];
  readonly codeQuota: number;
  readonly random: Random;
  /** Requests at once of each account. */
  readonly clients?: number;
  readonly pauseMs?: number;
}

export const isForMoney = ({ status, code }: CallResult): boolean =>
  (status === 403 || status === 402 || status === 429) && /quota|exhausted|balance/.test(code);

/**
 * What was there at least when a request was refused: all that was given before it was asked, less all that others may hold
 * or have paid by then.
 */
function minLeft(rejected: CallResult, results: readonly CallResult[], credits: readonly Credit[]): number {
  const { account } = rejected;
  let left = account.balance;
  for (const credit of credits)
    if (credit.account === account && credit.confirmedAt < rejected.sentAt) left += credit.quota;
  for (const one of results) {
    if (one === rejected || one.account !== account || one.sentAt > rejected.endedAt) continue;
    const isOver = one.endedAt < rejected.sentAt;
    if (isOver && one.whole) left -= one.cost;
    else if (!(isOver && one.status >= 400)) left -= one.max;
  }
  return left;
}

export function startTraffic(order: TrafficOrder): Traffic {
  const { url, random, codes, clients = 2, pauseMs = 40 } = order;
  const results: CallResult[] = [];
  const credits: Credit[] = [];
  const unexpected: string[] = [];
  let over = false;
  const note = async (account: Account, question: Question): Promise<CallResult> => {
    const requested = askOnce(url, account, question);
    const one = await requested;
    results.push(one);
    return one;
  };
  const question = (): Question => {
    const kind = random.share();
    const content = `question ${random.whole(1, 999)}`;
    if (kind < 0.55) return { content };
    if (kind < 0.8) return { content, stream: true };
    if (kind < 0.95) return { content, model: 'practice-large', stream: true };
    return { content, model: 'practice-large', stream: true, leaveAfter: random.whole(50, 1500) };
  };
  const spendFrom = async (account: Account) => {
    while (!over) {
      const one = await note(account, question());
      if (isForMoney(one)) unexpected.push(`${account.name}: ${one.words}`);
      await Bun.sleep(random.whole(0, pauseMs));
    }
  };
  const redeem = async (account: Account) => {
    const code = codes.pop();
    if (code === undefined) return Bun.sleep(500);
    const credit = { account, code, quota: order.codeQuota, confirmedAt: Number.POSITIVE_INFINITY };
    credits.push(credit);
    // A request without a response is repeated with the same code.
    for (let attempts = 0; attempts < 20 && !over; attempts++) {
      const answer = await call(`${url}/api/user/topup`, 'POST', account.headers, { key: code }).catch(() => null);
      if (answer?.success === true) credit.confirmedAt = performance.now();
      if (answer?.success === true || /used|使用/i.test(answer?.message ?? '')) return;
      await Bun.sleep(200);
    }
  };
  const rejected: CallResult[] = [];
  const poor = async (account: Account) => {
    while (!over) {
      const one = await note(account, { content: `question ${random.whole(1, 999)}`, stream: random.share() < 0.3 });
      if (isForMoney(one)) {
        rejected.push(one);
        await redeem(account);
      }
      await Bun.sleep(random.whole(0, pauseMs));
    }
  };
  const going = [
    ...order.accounts.flatMap((account) => Array.from({ length: clients }, () => spendFrom(account))),
    ...order.poor.flatMap((account) => Array.from({ length: clients }, () => poor(account))),
  ];
  return {
    results,
    credits,
    unexpected,
    async stop() {
      over = true;
      await Promise.all(going);
      // Only now is everything known that was open at the time.
      for (const one of rejected) {
        const left = minLeft(one, results, credits);
        if (left >= one.max)
          unexpected.push(`${one.account.name} at ${one.sentAt.toFixed(0)} ms: at least ${left} left: ${one.words}`);
      }
    },
  };
}
