/** The kinds an option value can have: each checks the stored text and says in both languages what is wrong with it. */
import { isAddressPart } from './address-part.ts';
import { type DefaultBudget, defaultBudgetIn, isZone } from './budgets.ts';
import { isHeaderName, mayPass, maySetForAll } from './header-override.ts';
import { type HeaderKind, headerKinds, type NameHeaders } from './names.ts';
import { isNetwork } from './networks.ts';
import { bucketOptions } from './pricing/bucket.ts';
import { isTermName, pricedMembers } from './pricing/modifiers.ts';

export interface Issue {
  readonly zh: string;
  readonly en: string;
}

export interface OptionKind<T = unknown> {
  readonly name: 'switch' | 'integer' | 'decimal' | 'text' | 'lines' | 'list' | 'choice' | 'ratios' | 'json';
  /** @returns what is wrong with the text, or null. */
  check(text: string): Issue | null;
  /** What only a text that is new is refused for: of one that was stored before, the rest acts. */
  checkNew?(text: string): Issue | null;
  /** Value of a checked text. */
  parse(text: string): T;
  /** Brings an accepted spelling into the one that is stored. */
  clean?(text: string): string;
  /** Values of a `choice`. */
  readonly choices?: readonly string[];
}

const badJson: Issue = { zh: '不是合法的 JSON 字符串', en: 'not valid JSON' };

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toggle: OptionKind<boolean> = {
  name: 'switch',
  check: (text) =>
    text === 'true' || text === 'false' ? null : { zh: '必须是 true 或 false', en: 'must be true or false' },
  parse: (text) => text === 'true',
};

export const text: OptionKind<string> = { name: 'text', check: () => null, parse: (value) => value };

/** One entry per line. */
export const lines: OptionKind<readonly string[]> = {
  name: 'lines',
  check: () => null,
  parse: (value) =>
    value
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
};

/** Budgets that new keys or users get, one a line; each window and unit once. */
export const defaultBudgets: OptionKind<readonly DefaultBudget[]> = {
  name: 'lines',
  clean: (value) => lines.parse(value).join('\n'),
  check(value) {
    const seen = new Set<string>();
    for (const line of lines.parse(value)) {
      const budget = defaultBudgetIn(line);
      const what = budget === null ? '' : `${budget.window} ${budget.unit}`;
      if (budget === null)
        return {
          zh: `无法识别：${line}；写法如 month 20usd、5h 200 requests、request 32000`,
          en: `not a budget: ${line}; write month 20usd, 5h 200 requests or request 32000`,
        };
      if (seen.has(what)) return { zh: `重复：${what}`, en: `twice: ${what}` };
      seen.add(what);
    }
    return null;
  },
  parse: (value) => lines.parse(value).flatMap((line) => defaultBudgetIn(line) ?? []),
};

const notAnAddress: Issue = { zh: '必须以 http:// 或 https:// 开头', en: 'must start with http:// or https://' };

/** A browser or a server of ours will follow it: the web alone, without names and passwords, without what a letter or a page would cut off. */
const isWebAddress = (value: string): boolean => {
  if (!/^https?:\/\/[^\s\\<>"']+$/i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
};

/** An address of the web as it is, or nothing. */
export const address: OptionKind<string> = {
  name: 'text',
  clean: (value) => value.trim(),
  check: (value) => (value.trim() === '' || isWebAddress(value.trim()) ? null : notAnAddress),
  parse: (value) => value,
};

const withoutSlashes = (value: string): string => value.trim().replace(/\/+$/, '');

/** An address that paths are put behind, or nothing; slashes at its end are no part of it, also where they were stored long ago. */
export const base: OptionKind<string> = {
  name: 'text',
  clean: withoutSlashes,
  check(value) {
    if (value.trim() !== '' && !isWebAddress(value.trim())) return notAnAddress;
    return /[?#]/.test(value) ? { zh: '不能包含 ? 或 #', en: 'must not contain ? or #' } : null;
  },
  parse: withoutSlashes,
};

/** Address of a picture: of the web, or a path on this site. */
export const image: OptionKind<string> = {
  ...address,
  check: (value) => (/^\/(?![/\\])[^\s\\<>"']*$/.test(value.trim()) ? null : address.check(value)),
};

/** What runs or carries its content instead of leading somewhere; browsers skip white space and control characters in a scheme. */
const runs = /^(javascript|data|vbscript|blob|file):/i;
const strings = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strings)
      : [];

/** Name of a time zone; nothing is UTC. */
export const zone: OptionKind<string> = {
  name: 'text',
  clean: (value) => value.trim(),
  check: (value) =>
    isZone(value.trim())
      ? null
      : { zh: '必须是时区名称，如 Asia/Shanghai', en: 'must be the name of a time zone, such as Europe/Berlin' },
  parse: (value) => value.trim(),
};

export const currency: OptionKind<string> = {
  name: 'text',
  clean: (value) => value.trim().toLowerCase(),
  check: (value) =>
    /^[a-z]{3}$/.test(value) ? null : { zh: '必须是三位货币代码', en: 'must be a currency code of three letters' },
  parse: (value) => value,
};

/** Comma separated. */
export const list: OptionKind<readonly string[]> = {
  name: 'list',
  check: () => null,
  parse: (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
};

/** Comma separated, of known names. */
export const listOf = (names: readonly string[]): OptionKind<readonly string[]> => ({
  ...list,
  clean: (value) => list.parse(value).join(','),
  check(value) {
    const bad = list.parse(value).find((item) => !names.includes(item));
    const known = names.join(', ');
    return bad === undefined ? null : { zh: `未知：${bad}；可用：${known}`, en: `unknown: ${bad}; known: ${known}` };
  },
});

/** Comma separated mail addresses. */
export const emails: OptionKind<readonly string[]> = {
  ...list,
  clean: (value) => list.parse(value).join(','),
  check(value) {
    const bad = list.parse(value).find((item) => !/^[^\s@,;<>]+@[^\s@,;<>]+$/.test(item));
    return bad === undefined ? null : { zh: `邮箱地址不正确：${bad}`, en: `not an email address: ${bad}` };
  },
};

const domain = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;

/** Comma separated mail domains, each once. */
export const domains: OptionKind<readonly string[]> = {
  name: 'list',
  clean: (value) => list.parse(value).join(','),
  check(value) {
    const items = list.parse(value);
    const bad = items.find((item) => !domain.test(item));
    if (bad !== undefined) return { zh: `邮箱域名格式不正确：${bad}`, en: `not an email domain: ${bad}` };
    const double = items.find(
      (item, at) => items.findIndex((other) => other.toLowerCase() === item.toLowerCase()) < at,
    );
    return double === undefined
      ? null
      : { zh: `该域名已存在：${double}`, en: `the domain is there already: ${double}` };
  },
  parse: list.parse,
};

/** Comma separated addresses and networks in CIDR form. */
export const networks: OptionKind<readonly string[]> = {
  name: 'list',
  clean: (value) => list.parse(value).join(','),
  check(value) {
    const bad = list.parse(value).find((item) => !isNetwork(item));
    return bad === undefined ? null : { zh: `不是 IP 地址或网段：${bad}`, en: `no address or network: ${bad}` };
  },
  parse: list.parse,
};

export const integer = (min: number, max = 999_999_999_999_999): OptionKind<number> => ({
  name: 'integer',
  clean: (value) => value.trim(),
  check: (value) =>
    /^-?\d{1,15}$/.test(value) && Number(value) >= min && Number(value) <= max
      ? null
      : max < 999_999_999_999_999
        ? { zh: `必须是 ${min} 到 ${max} 之间的整数`, en: `must be a whole number from ${min} to ${max}` }
        : { zh: `必须是不小于 ${min} 的整数`, en: `must be a whole number of at least ${min}` },
  parse: Number,
});

export const decimal = (min: number, max = Number.MAX_SAFE_INTEGER): OptionKind<number> => ({
  name: 'decimal',
  clean: (value) => value.trim(),
  check: (value) =>
    /^-?\d+(\.\d+)?$/.test(value) && Number(value) >= min && Number(value) <= max
      ? null
      : { zh: `必须是 ${min} 到 ${max} 之间的数字`, en: `must be a number from ${min} to ${max}` },
  parse: Number,
});

export const choice = (...choices: readonly string[]): OptionKind<string> => ({
  name: 'choice',
  choices,
  check: (value) =>
    choices.includes(value)
      ? null
      : { zh: `必须是 ${choices.join('、')} 之一`, en: `must be one of ${choices.join(', ')}` },
  parse: (value) => value,
});

/** Prices keep six decimals: what is smaller would silently be nothing, and what is larger no sum could hold. */
const minRatio = 0.000001;
const maxRatio = 1_000_000;

/** JSON object of name -> 0, or a number from 0.000001 to 1000000. */
export const ratios: OptionKind<ReadonlyMap<string, number>> = {
  name: 'ratios',
  check(value) {
    const object = jsonOf(value);
    if (!isRecord(object)) return badJson;
    const bad = Object.entries(object).find(
      ([, ratio]) => typeof ratio !== 'number' || !(ratio === 0 || (ratio >= minRatio && ratio <= maxRatio)),
    );
    return bad === undefined
      ? null
      : {
          zh: `${bad[0]} 必须是 0，或 0.000001 到 1000000 之间的数字`,
          en: `${bad[0]} must be 0 or a number from 0.000001 to 1000000`,
        };
  },
  parse: (value) => new Map(Object.entries(jsonOf(value) as Record<string, number>)),
};

/** Any JSON of the given shape; an empty text means nothing is set and is stored as empty JSON, which every reader can parse. */
export const json = (shape: 'object' | 'array'): OptionKind<unknown> => ({
  name: 'json',
  clean: (value) => (value.trim() === '' ? (shape === 'array' ? '[]' : '{}') : value),
  check(value) {
    if (value.trim() === '') return null;
    const parsed = jsonOf(value);
    const matches = shape === 'array' ? Array.isArray(parsed) : isRecord(parsed);
    return matches ? null : badJson;
  },
  parse: (value) => (value.trim() === '' ? (shape === 'array' ? [] : {}) : jsonOf(value)),
});

/** JSON list of {name: address}; programs on a desk have schemes of their own. */
export const chatLinks: OptionKind<unknown> = {
  ...json('array'),
  check(value) {
    const issue = json('array').check(value);
    if (issue !== null || value.trim() === '') return issue;
    const list = jsonOf(value) as readonly unknown[];
    if (!list.every((entry) => isRecord(entry) && Object.values(entry).every((link) => typeof link === 'string')))
      return { zh: '每项必须形如 {"名称": "地址"}', en: 'each entry must look like {"name": "address"}' };
    const bad = strings(list).find((item) => runs.test(item.replace(/[\p{C}\s]/gu, '')));
    return bad === undefined ? null : { zh: `不允许的地址：${bad}`, en: `this kind of address is refused: ${bad}` };
  },
};

/** One such address, with places to fill in, or nothing. */
export const link: OptionKind<string> = {
  ...text,
  clean: (value) => value.trim(),
  check: (value) =>
    runs.test(value.replace(/[\p{C}\s]/gu, ''))
      ? { zh: `不允许的地址：${value}`, en: `this kind of address is refused: ${value}` }
      : null,
};

/** JSON object of name -> text. */
export const texts: OptionKind<Readonly<Record<string, string>>> = {
  name: 'json',
  clean: (value) => (value.trim() === '' ? '{}' : value),
  check(value) {
    if (value.trim() === '') return null;
    const object = jsonOf(value);
    if (!isRecord(object)) return badJson;
    const bad = Object.entries(object).find(([, item]) => typeof item !== 'string');
    return bad === undefined ? null : { zh: `${bad[0]} 必须是文本`, en: `${bad[0]} must be a text` };
  },
  parse: (value) => (value.trim() === '' ? {} : (jsonOf(value) as Record<string, string>)),
};

const kindOfHeader = (word: unknown): HeaderKind | undefined => headerKinds.find((kind) => kind === word);

/** JSON object of header -> what it names. Headers that carry credentials are refused: what they say would stand in the log. */
export const nameHeaders: OptionKind<NameHeaders> = {
  name: 'json',
  clean: (value) => (value.trim() === '' ? '{}' : value),
  check(value) {
    const issue = texts.check(value);
    if (issue !== null) return issue;
    for (const [header, kind] of Object.entries(texts.parse(value))) {
      if (!isHeaderName(header) || !mayPass(header.toLowerCase()))
        return {
          zh: `${header} 不是可用的请求头：名称无效，或可能带有凭据`,
          en: `${header} is no header to read: not a name, or it may carry a credential`,
        };
      if (kindOfHeader(kind) === undefined)
        return {
          zh: `${header} 必须是 ${headerKinds.join('、')} 之一`,
          en: `${header} must be one of ${headerKinds.join(', ')}`,
        };
    }
    return null;
  },
  parse: (value) =>
    Object.entries(texts.parse(value)).flatMap(([header, word]) => {
      const kind = kindOfHeader(word);
      return kind === undefined ? [] : [[header.toLowerCase(), kind] as const];
    }),
};

/** Numbers of keys, one a line. */
export const keyNumbers: OptionKind<ReadonlySet<number>> = {
  name: 'lines',
  clean: (value) => lines.parse(value).join('\n'),
  check(value) {
    const bad = lines.parse(value).find((line) => !/^[1-9]\d{0,14}$/.test(line));
    return bad === undefined ? null : { zh: `${bad} 不是令牌编号`, en: `${bad} is no number of a key` };
  },
  parse: (value) => new Set(lines.parse(value).map(Number)),
};

/** JSON object of name -> (name -> ratio). */
export const ratioTable: OptionKind<Readonly<Record<string, Readonly<Record<string, number>>>>> = {
  name: 'json',
  clean: (value) => (value.trim() === '' ? '{}' : value),
  check(value) {
    if (value.trim() === '') return null;
    const object = jsonOf(value);
    if (!isRecord(object)) return badJson;
    for (const [name, row] of Object.entries(object)) {
      const issue = ratios.check(JSON.stringify(row));
      if (issue !== null) return { zh: `${name}：${issue.zh}`, en: `${name}: ${issue.en}` };
    }
    return null;
  },
  parse: (value) => (value.trim() === '' ? {} : (jsonOf(value) as Record<string, Record<string, number>>)),
};

/** JSON object of model or pattern -> (`member:value` -> factor). */
export const termTable: OptionKind<Readonly<Record<string, Readonly<Record<string, number>>>>> = {
  ...ratioTable,
  check(value) {
    const issue = ratioTable.check(value);
    if (issue !== null || value.trim() === '') return issue;
    for (const [model, row] of Object.entries(ratioTable.parse(value))) {
      const bad = Object.keys(row).find((name) => !isTermName(name));
      if (bad !== undefined)
        return {
          zh: `${model}：${bad} 必须形如 service_tier:priority（成员：${Object.keys(pricedMembers).join('、')}）`,
          en: `${model}: ${bad} must look like service_tier:priority (members: ${Object.keys(pricedMembers).join(', ')})`,
        };
    }
    return null;
  },
};

/** JSON object of model -> list of steps: `above` so many tokens, and factors, `input` among them. */
export const tiers: OptionKind<unknown> = {
  ...json('object'),
  check(value) {
    const issue = json('object').check(value);
    if (issue !== null || value.trim() === '') return issue;
    for (const [name, steps] of Object.entries(jsonOf(value) as Record<string, unknown>)) {
      if (!Array.isArray(steps) || !steps.every(isStep))
        return {
          zh: `${name} 必须是列表，每项形如 {"above": 200000, "input": 2, "output": 1.5}`,
          en: `${name} must be a list of steps such as {"above": 200000, "input": 2, "output": 1.5}`,
        };
      for (const { above: _, ...factors } of steps) {
        const bad = ratios.check(JSON.stringify(factors));
        if (bad !== null) return { zh: `${name}：${bad.zh}`, en: `${name}: ${bad.en}` };
      }
    }
    return null;
  },
};

const isStep = (step: unknown): step is Record<string, unknown> =>
  isRecord(step) && Number.isSafeInteger(step.above) && Number(step.above) >= 0 && typeof step.input === 'number';

/** JSON object of model or pattern -> (`member:value` -> steps of factors, as in `tiers`). */
export const termFactors: OptionKind<unknown> = {
  ...json('object'),
  check(value) {
    const issue = json('object').check(value);
    if (issue !== null || value.trim() === '') return issue;
    for (const [model, terms] of Object.entries(jsonOf(value) as Record<string, unknown>)) {
      const bad = isRecord(terms) ? Object.keys(terms).find((name) => !isTermName(name)) : '';
      if (bad !== undefined)
        return {
          zh: `${model}：必须是 service_tier:flex 等 → 倍率列表 ${bad}`.trim(),
          en: `${model} must map service_tier:flex and the like to lists of factors ${bad}`.trim(),
        };
      const own = tiers.check(JSON.stringify(terms));
      if (own !== null) return { zh: `${model}：${own.zh}`, en: `${model}: ${own.en}` };
    }
    return null;
  },
};

/** Options that a price with a date may have a value for. */
const datedKeys: readonly string[] = ['ModelRatio', 'ModelPrice', ...bucketOptions.map(({ key }) => key)];
const isDay = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(`${value}T00:00:00Z`));

/** JSON object of model -> list of prices that hold from a day on. */
export const priceDates: OptionKind<unknown> = {
  ...json('object'),
  check(value) {
    const issue = json('object').check(value);
    if (issue !== null || value.trim() === '') return issue;
    for (const [model, rows] of Object.entries(jsonOf(value) as Record<string, unknown>)) {
      for (const row of Array.isArray(rows) ? rows : [null]) {
        const { from, until, TierRatio: terms, replaces, ...own } = isRecord(row) ? row : { from: undefined };
        if (!isDay(from) || (until !== undefined && !isDay(until)))
          return {
            zh: `${model} 必须是列表，每项形如 {"from": "2026-12-01", "ModelRatio": 2}`,
            en: `${model} must be a list such as {"from": "2026-12-01", "ModelRatio": 2}`,
          };
        const { TierRatio: formerTerms, ...former } = isRecord(replaces) ? replaces : {};
        const bad =
          Object.keys({ ...own, ...former }).find((key) => !datedKeys.includes(key)) ??
          (ratios.check(JSON.stringify(own)) === null && ratios.check(JSON.stringify(former)) === null
            ? undefined
            : '');
        if (bad !== undefined)
          return { zh: `${model}：${bad} 不是价格`, en: `${model}: ${bad === '' ? 'a value' : bad} is no price` };
        const issue = termTable.check(JSON.stringify({ [model]: terms ?? {}, replaces: formerTerms ?? {} }));
        if (issue !== null) return issue;
      }
    }
    return null;
  },
};

/** An option of JSON whose parts are looked at one by one. @param part of an object by its name, of a list by its number. */
const partwise = (
  shape: 'object' | 'array',
  matches: (part: unknown, name: string) => boolean,
  words: Issue,
): OptionKind<unknown> => ({
  ...json(shape),
  check(value) {
    const issue = json(shape).check(value);
    if (issue !== null || value.trim() === '') return issue;
    const bad = Object.entries(jsonOf(value) as object).find(([name, part]) => !matches(part, name));
    return bad === undefined ? null : { zh: `${bad[0]}：${words.zh}`, en: `${bad[0]}: ${words.en}` };
  },
});

/** What HTTP lets a header be called and say. */
const isHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[!#$%&'*+.^`|~\w-]+$/.test(name) &&
  (Array.isArray(value) ? value : [value]).every(
    (one) => typeof one === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(one),
  );

/** JSON object of model -> (header -> text or list of texts). */
export const headerTable: OptionKind<unknown> = {
  ...partwise('object', (part) => isRecord(part) && Object.entries(part).every(isHeader), {
    zh: '必须是 {"请求头": "值"}，请求头名称不能包含空格等字符',
    en: 'must be {"header": "value"}, and no header has a blank in its name',
  }),
  checkNew(value) {
    const names = Object.values(Object(jsonOf(value)) as object).flatMap((part) => Object.keys(Object(part)));
    const wrong = names.find((name) => !maySetForAll(name));
    return wrong === undefined
      ? null
      : {
          zh: `不能设置请求头 ${wrong}：它属于连接、请求体格式或凭据`,
          en: `${wrong} cannot be set: it belongs to the connection, the form of the body or a credential`,
        };
  },
};

/** JSON object of model -> how many tokens. */
export const tokenTable = partwise('object', (part) => Number.isSafeInteger(part) && Number(part) > 0, {
  zh: '必须是正整数',
  en: 'must be a whole number above 0',
});

/** JSON list of names. */
export const nameList = partwise('array', (part) => typeof part === 'string' && part !== '', {
  zh: '必须是名称',
  en: 'must be a name',
});

const limitNames = ['rpm', 'tpm', 'concurrency'];

/** JSON object of model -> version, a part of an address. */
export const versionTable: OptionKind<Readonly<Record<string, string>>> = {
  ...texts,
  check(value) {
    const issue = texts.check(value);
    if (issue !== null || value.trim() === '') return issue;
    const bad = Object.entries(texts.parse(value)).find(([, version]) => version !== '' && !isAddressPart(version));
    return bad === undefined
      ? null
      : { zh: `${bad[0]} 的版本无效，例如 v1beta`, en: `${bad[0]} has no valid version, such as v1beta` };
  },
};

/** JSON object of name -> {rpm, tpm, concurrency}, each a whole number, 0 or absent = no limit. */
export const limitTable: OptionKind<Readonly<Record<string, Readonly<Record<string, number>>>>> = {
  ...ratioTable,
  check(value) {
    if (value.trim() === '') return null;
    const table = jsonOf(value);
    if (!isRecord(table) || !Object.values(table).every(isRecord)) return badJson;
    for (const [name, row] of Object.entries(table as Record<string, Record<string, unknown>>)) {
      const bad = Object.entries(row).find(
        ([limit, max]) => !limitNames.includes(limit) || !Number.isSafeInteger(max) || Number(max) < 0,
      );
      if (bad !== undefined)
        return {
          zh: `${name}：${bad[0]} 必须是 rpm、tpm 或 concurrency，值为整数`,
          en: `${name}: ${bad[0]} must be rpm, tpm or concurrency with a whole number`,
        };
    }
    return null;
  },
};
