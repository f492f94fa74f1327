/** Clients that write down what they were told: the other side of the books. */

import { type Account, call } from './people.ts';
import type { Chance } from './random.ts';
import { unit } from './site.ts';

/** What one request was told. */
export interface Told {
  readonly account: Account;
  readonly sentAt: number;
  /** Infinity while nothing was told. */
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
  charge: number;
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
const overhead = 64;

export function bodyOf({ model = 'practice-small', stream = false, content = 'hi' }: Question): string {
  const messages = [{ role: 'user', content }];
  const usage = stream ? { stream_options: { include_usage: true } } : {};
  return JSON.stringify({ model, stream, max_tokens: tokensOf[model], messages, ...usage });
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const chargeOf = (usage: Usage | undefined): number =>
  usage === undefined ? 0 : unit * (usage.prompt_tokens + usage.completion_tokens);

function readAnswer(told: Told, text: string, stream: boolean): void {
  if (told.status !== 200) {
    const error = parsed<{ error?: { code?: string; type?: string; message?: string } }>(text)?.error;
    told.code = String(error?.code ?? error?.type ?? 'unreadable');
    told.words = String(error?.message ?? text.slice(0, 200));
    return;
  }
  const last = stream ? (/data: (\{[^\n]*"usage":\{[^\n]*)\n\ndata: \[DONE\]\n\n$/.exec(text)?.[1] ?? '') : text;
  const usage = parsed<{ usage?: Usage }>(last)?.usage;
  told.whole = usage !== undefined;
  told.charge = chargeOf(usage);
  if (!told.whole) told.words = text.slice(-200);
}

function parsed<Shape>(text: string): Shape | null {
  try {
    return JSON.parse(text) as Shape;
  } catch {
    return null;
  }
}

export async function askOnce(url: string, account: Account, question: Question = {}): Promise<Told> {
  const body = bodyOf(question);
  const told: Told = {
    account,
    sentAt: performance.now(),
    endedAt: Number.POSITIVE_INFINITY,
    firstByteMs: 0,
    status: 0,
    left: question.leaveAfter !== undefined,
    ref: '',
    whole: false,
    charge: 0,
    code: '',
    words: '',
    max: unit * (Buffer.byteLength(body) + overhead + tokensOf[question.model ?? 'practice-small']),
  };
  return fill(told, url, body, question);
}

async function fill(told: Told, url: string, body: string, { stream = false, leaveAfter }: Question): Promise<Told> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${told.account.key}`, 'content-type': 'application/json' },
      body,
      keepalive: false,
      signal: AbortSignal.timeout(leaveAfter ?? timeoutMs),
    });
    told.firstByteMs = performance.now() - told.sentAt;
    told.ref = response.headers.get('x-oneapi-request-id') ?? '';
    told.status = response.status;
    readAnswer(told, await response.text(), stream);
  } catch (error) {
    told.words = String(error);
    if (!told.whole) told.status = 0;
  }
  told.endedAt = performance.now();
  return told;
}

export interface Traffic {
  readonly told: readonly Told[];
  readonly credits: readonly Credit[];
  /** Refusals for money that the balance could carry, in words. */
  readonly wronglyRefused: readonly string[];
  /** Ends when everything open has ended. */
  stop(): Promise<void>;
}

export interface TrafficOrder {
  readonly url: string;
  readonly rich: readonly Account[];
  readonly poor: readonly Account[];
  readonly codes: string[];
  readonly codeQuota: number;
  readonly chance: Chance;
  /** Requests at once of each account. */
  readonly lanes?: number;
  readonly pauseMs?: number;
}

export const isForMoney = ({ status, code }: Told): boolean =>
  (status === 403 || status === 402) && /quota|exhausted|balance/.test(code);

/**
 * What was there at least when a request was refused: all that was given before it was asked, less all that others may hold
 * or have paid by then.
 */
function minLeft(rejected: Told, told: readonly Told[], credits: readonly Credit[]): number {
  const { account } = rejected;
  let left = account.balance;
  for (const credit of credits)
    if (credit.account === account && credit.confirmedAt < rejected.sentAt) left += credit.quota;
  for (const one of told) {
    if (one === rejected || one.account !== account || one.sentAt > rejected.endedAt) continue;
    const isOver = one.endedAt < rejected.sentAt;
    if (isOver && one.whole) left -= one.charge;
    else if (!(isOver && one.status >= 400)) left -= one.max;
  }
  return left;
}

export function startTraffic(order: TrafficOrder): Traffic {
  const { url, chance, codes, lanes = 2, pauseMs = 40 } = order;
  const told: Told[] = [];
  const credits: Credit[] = [];
  const wronglyRefused: string[] = [];
  let over = false;
  const note = async (account: Account, question: Question): Promise<Told> => {
    const requested = askOnce(url, account, question);
    const one = await requested;
    told.push(one);
    return one;
  };
  const question = (): Question => {
    const kind = chance.share();
    const content = `question ${chance.whole(1, 999)}`;
    if (kind < 0.55) return { content };
    if (kind < 0.8) return { content, stream: true };
    if (kind < 0.95) return { content, model: 'practice-large', stream: true };
    return { content, model: 'practice-large', stream: true, leaveAfter: chance.whole(50, 1500) };
  };
  const rich = async (account: Account) => {
    while (!over) {
      const one = await note(account, question());
      if (isForMoney(one)) wronglyRefused.push(`${account.name}: ${one.words}`);
      await Bun.sleep(chance.whole(0, pauseMs));
    }
  };
  const redeem = async (account: Account) => {
    const code = codes.pop();
    if (code === undefined) return Bun.sleep(500);
    const credit = { account, code, quota: order.codeQuota, confirmedAt: Number.POSITIVE_INFINITY };
    credits.push(credit);
    // Whoever was not answered asks again with the same code.
    for (let attempts = 0; attempts < 20 && !over; attempts++) {
      const answer = await call(`${url}/api/user/topup`, 'POST', account.headers, { key: code }).catch(() => null);
      if (answer?.success === true) credit.confirmedAt = performance.now();
      if (answer?.success === true || /used|使用/i.test(answer?.message ?? '')) return;
      await Bun.sleep(200);
    }
  };
  const rejected: Told[] = [];
  const poor = async (account: Account) => {
    while (!over) {
      const one = await note(account, { content: `question ${chance.whole(1, 999)}`, stream: chance.share() < 0.3 });
      if (isForMoney(one)) {
        rejected.push(one);
        await redeem(account);
      }
      await Bun.sleep(chance.whole(0, pauseMs));
    }
  };
  const going = [
    ...order.rich.flatMap((account) => Array.from({ length: lanes }, () => rich(account))),
    ...order.poor.flatMap((account) => Array.from({ length: lanes }, () => poor(account))),
  ];
  return {
    told,
    credits,
    wronglyRefused,
    async stop() {
      over = true;
      await Promise.all(going);
      // Only now is everything known that was open at the time.
      for (const one of rejected) {
        const left = minLeft(one, told, credits);
        if (left >= one.max)
          wronglyRefused.push(
            `${one.account.name} at ${one.sentAt.toFixed(0)} ms: at least ${left} left: ${one.words}`,
          );
      }
    },
  };
}
