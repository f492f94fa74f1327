/** Who waits for what, and who has nothing idle: told between nodes in as few messages as there is time for. */
import type { Wire } from '../../db/postgres/wire.ts';

type Recall = readonly [account: number, token: number, holders: readonly number[]];

interface Told {
  /** Number of the node that says it. */
  readonly from: number;
  /** Account, key or 0, and the nodes that have some of either. */
  readonly recall?: readonly Recall[];
  readonly answer?: readonly number[];
}

export interface Telling {
  recall(account: number, token: number, holders: readonly number[]): void;
  answer(account: number): void;
}

export interface TellingDeps {
  readonly wire: Pick<Wire, 'tell'>;
  readonly epoch: () => number;
  /** When what was told in this turn goes out. */
  readonly later: (work: () => void) => void;
}

/** A message has room for so many, on a site of twenty nodes. */
const together = 50;

export function createTelling({ wire, epoch, later }: TellingDeps): Telling {
  let recalls = new Map<string, Recall>();
  let answers = new Set<number>();
  const send = () => {
    const [wanted, idle] = [[...recalls.values()], [...answers]];
    recalls = new Map();
    answers = new Set();
    const from = epoch();
    for (let at = 0; at < Math.max(wanted.length, idle.length); at += together)
      wire.tell(
        JSON.stringify({
          from,
          recall: wanted.slice(at, at + together),
          answer: idle.slice(at, at + together),
        } satisfies Told),
      );
  };
  const soon = () => {
    if (recalls.size + answers.size === 1) later(send);
  };
  return {
    recall(account, token, holders) {
      const before = recalls.size;
      const known = recalls.get(`${account} ${token}`)?.[2] ?? [];
      recalls.set(`${account} ${token}`, [account, token, [...new Set([...known, ...holders])]]);
      if (recalls.size > before) soon();
    },
    answer(account) {
      const before = answers.size;
      answers.add(account);
      if (answers.size > before) soon();
    },
  };
}

export interface TellingHearers {
  readonly recalled: (account: number, token: number) => void;
  readonly answered: (account: number, by: number) => void;
}

/** @param text as another node, or this one, has told it. */
export function heard(text: string, own: number, { recalled, answered }: TellingHearers): void {
  let told: Told;
  try {
    told = JSON.parse(text) as Told;
  } catch {
    return;
  }
  if (told.from === own) return;
  for (const [account, token, holders] of told.recall ?? []) if (holders.includes(own)) recalled(account, token);
  for (const account of told.answer ?? []) answered(account, told.from);
}
