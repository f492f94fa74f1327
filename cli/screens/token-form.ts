/** An API key, question by question; the answers are the flags that would have said the same. */

import { moneyText, parseMoney, parseNumber } from '../../server/contract/amount.ts';
import { formatError } from '../../server/contract/errors.ts';
import { textIn } from '../../server/contract/language.ts';
import { maxTokenNameLength } from '../../server/contract/token-key.ts';
import { type FlagValues, text } from '../command.ts';
import type { Context } from '../context.ts';
import { expiryOf } from '../parts/expiry.ts';
import { type Form, inForm } from '../parts/form.ts';
import { type Money, moneyOf } from '../parts/money.ts';
import { unlimited } from '../parts/numbers.ts';

type Window = 'quota' | 'dayBudget' | 'monthBudget';
const windows: readonly Window[] = ['quota', 'dayBudget', 'monthBudget'];
const limits = ['rpm', 'tpm', 'concurrency'] as const;

class TokenForm {
  readonly #context: Context;
  readonly #money: Money;
  readonly #form: Form;

  constructor(context: Context, money: Money, form: Form) {
    this.#context = context;
    this.#money = money;
    this.#form = form;
  }

  name(): Promise<string> {
    const { say, language } = this.#context;
    return this.#form.ask({
      label: say('名称', 'name'),
      check: (name) =>
        new TextEncoder().encode(name).length > maxTokenNameLength
          ? formatError('token_name_long', {}, language)
          : null,
    });
  }

  async budget(): Promise<FlagValues> {
    const { say } = this.#context;
    const window = await this.#form.ask({
      label: say('预算', 'budget'),
      choices: [
        { value: unlimited, label: say('不限（受账户余额约束）', 'unlimited: as much as the account has') },
        { value: 'quota', label: say('总额：用完即止', 'in total: the key stops when it is spent') },
        { value: 'dayBudget', label: say('每日', 'per day') },
        { value: 'monthBudget', label: say('每月', 'per month') },
      ],
    });
    if (window === unlimited) return { quota: unlimited };
    const amount = await this.#amount(window as Window);
    return window === 'quota' ? { quota: amount } : { quota: unlimited, [window]: amount };
  }

  async #amount(window: Window): Promise<string> {
    const { say, language } = this.#context;
    const { inCurrency, quotaPerUnit } = this.#money;
    const terms = { plain: inCurrency ? 'currency' : 'quota', quotaPerUnit, min: 1 } as const;
    const typed = await this.#form.ask({
      label: {
        quota: say('总额', 'amount in total'),
        dayBudget: say('每日金额', 'amount per day'),
        monthBudget: say('每月金额', 'amount per month'),
      }[window],
      follows: true,
      hint: inCurrency
        ? say('单位美元：5、5.50、1,000；也可写 500000 quota', 'in dollars: 5, 5.50, 1,000; or 500000 quota')
        : say('单位额度：500000；也可写 5usd', 'in quota: 500000; or 5usd'),
      check: (answer) => {
        const amount = parseMoney(answer, terms);
        return amount.kind === 'invalid' ? textIn(amount.issue, language) : null;
      },
    });
    const amount = parseMoney(typed, terms);
    const quota = amount.kind === 'value' ? amount.value : 0;
    return inCurrency ? `${moneyText(quota, { plain: 'currency', quotaPerUnit })}usd` : String(quota);
  }

  /** Most keys need no more. */
  rest(): Promise<string> {
    const { say } = this.#context;
    return this.#form.ask({
      label: say('其余设置', 'the rest'),
      choices: [
        { value: 'none', label: say('现在创建：不再限制', 'create it now: no other limits') },
        { value: 'more', label: say('逐项设置：模型、过期、分组、速率', 'set models, expiry, group and rates') },
      ],
    });
  }

  models(names: readonly string[]): Promise<string> {
    const { say } = this.#context;
    return this.#form.ask({
      label: say('可用模型', 'models'),
      hint: say('不选 = 全部模型', 'none = every model'),
      choices: names.map((name) => ({ value: name, label: name })),
      several: true,
      optional: true,
    });
  }

  expiry(): Promise<string> {
    const { say, language } = this.#context;
    const days = (count: number) => say(`${count} 天`, `${count} days`);
    return this.#form.ask({
      label: say('过期', 'expires'),
      hint: say('也可输入 12h、45d 或日期 2027-01-31', 'or type 12h, 45d or a date such as 2027-01-31'),
      choices: [
        { value: 'never', label: say('永不过期', 'never') },
        ...[1, 7, 30, 90, 365].map((count) => ({ value: `${count}d`, label: days(count) })),
      ],
      open: true,
      check: (answer) => {
        const at = expiryOf(answer, Date.now());
        return typeof at === 'number' ? null : textIn(at, language);
      },
    });
  }

  group(groups: Readonly<Record<string, { readonly desc: string; readonly ratio: number }>>): Promise<string> {
    const { say } = this.#context;
    return this.#form.ask({
      label: say('分组', 'group'),
      choices: [
        { value: '', label: say('账户自己的分组', "the account's own group") },
        ...Object.entries(groups).map(([name, { desc, ratio }]) => ({
          value: name,
          label: `${name}  ${desc}  ×${ratio}`,
        })),
      ],
      optional: true,
    });
  }

  limit(name: (typeof limits)[number]): Promise<string> {
    const { say, language } = this.#context;
    return this.#form.ask({
      label: {
        rpm: say('每分钟请求数', 'requests per minute'),
        tpm: say('每分钟 tokens', 'tokens per minute'),
        concurrency: say('同时请求数', 'requests at once'),
      }[name],
      fallback: say('不限', 'unlimited'),
      check: (answer) => {
        const amount = parseNumber(answer, { integer: true, unlimited: true, min: 1 });
        return amount.kind === 'invalid' ? textIn(amount.issue, language) : null;
      },
    });
  }
}

const isUnlimited = (answer: string): boolean => parseNumber(answer, { unlimited: true }).kind === 'unlimited';

/** Asks for what no flag says. @returns the flags with what was answered. @throws AppError cancelled */
export async function tokenForm(context: Context, input: FlagValues): Promise<FlagValues> {
  const client = await context.client();
  const [money, models, groups] = await Promise.all([
    moneyOf(context),
    client.call('user.models'),
    client.call('user.groups'),
  ]);
  const asksBudget = windows.every((window) => input[window] === undefined);
  const asksModels = input.models === undefined && models.length > 0;
  const asksExpiry = input.expires === undefined;
  const asksGroup = input.group === undefined && Object.keys(groups).length > 1;
  const open = limits.filter((limit) => input[limit] === undefined);
  const rest = [asksModels, asksExpiry, asksGroup].filter(Boolean).length + open.length;
  const first = [text(input.name) === undefined, asksBudget].filter(Boolean).length;
  // One that is left needs no question whether to ask it.
  return inForm(context, first + Math.min(rest, 1), (form) =>
    form.part(async () => {
      const questions = new TokenForm(context, money, form);
      const flags: Record<string, FlagValues[string]> = {
        ...input,
        name: text(input.name) ?? (await questions.name()),
      };
      if (asksBudget) Object.assign(flags, await questions.budget());
      if (rest > 1) {
        if ((await questions.rest()) === 'none') return flags;
        form.count(rest);
      }
      if (asksModels) flags.models = (await questions.models(models)) || undefined;
      if (asksExpiry) flags.expires = await questions.expiry();
      if (asksGroup) flags.group = (await questions.group(groups)) || undefined;
      for (const limit of open) {
        const answer = await questions.limit(limit);
        flags[limit] = isUnlimited(answer) ? undefined : answer;
      }
      return flags;
    }),
  );
}
