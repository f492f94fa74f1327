/** Messages between nodes about leases: recalls, and answers that nothing idle is left, packed into few notifications. */
import type { Wire } from '../../db/postgres/wire.ts';

/** `tokenOnly` 1 = the balance is not needed; a node of an earlier version does not know it and returns both. */
type Recall = readonly [account: number, token: number, holders: readonly number[], mark: number, tokenOnly?: 0 | 1];
type Answer = readonly [account: number, to: number, mark: number];

interface NodeMessage {
  /** Epoch of the sending node. */
  readonly from: number;
  /** Which of its messages this is. */
  readonly number: number;
  /** Account, key or 0, the nodes that have some of either, and which recall it is. */
  readonly recall?: readonly Recall[];
  /** Account, the recalling node, and its recall. */
  readonly answer?: readonly Answer[];
  /** The same of budgets, in place of accounts and without keys: a node of an earlier version has no lease of them. */
  readonly budgetRecall?: readonly Recall[];
  readonly budgetAnswer?: readonly Answer[];
}

/** Numbers of messages, whatever they are about. */
export const createMessageNumbers = (): (() => number) => {
  let last = 0;
  return () => ++last;
};

export interface LeaseMessages {
  recall(account: number, token: number, holders: readonly number[], mark: number, tokenOnly: boolean): void;
  answer(account: number, to: number, mark: number): void;
}

export interface LeaseMessagesDeps {
  readonly wire: Pick<Wire, 'send'>;
  readonly epoch: () => number;
  /** Schedules the send of what was collected in this turn. */
  readonly later: (work: () => void) => void;
  /** Default: accounts. */
  readonly kind?: 'account' | 'budget';
  readonly nextNumber?: () => number;
}

/** A message has room for so many, on a site of twenty nodes. */
const together = 50;

export function createLeaseMessages({
  wire,
  epoch,
  later,
  kind = 'account',
  nextNumber = createMessageNumbers(),
}: LeaseMessagesDeps): LeaseMessages {
  let recalls = new Map<string, Recall>();
  let responses = new Map<string, Answer>();
  const messageOf = (recall: readonly Recall[], answer: readonly Answer[]): NodeMessage => {
    const sent = { from: epoch(), number: nextNumber() };
    return kind === 'account' ? { ...sent, recall, answer } : { ...sent, budgetRecall: recall, budgetAnswer: answer };
  };
  const send = () => {
    const [recalled, idle] = [[...recalls.values()], [...responses.values()]];
    recalls = new Map();
    responses = new Map();
    for (let at = 0; at < Math.max(recalled.length, idle.length); at += together)
      wire.send(JSON.stringify(messageOf(recalled.slice(at, at + together), idle.slice(at, at + together))));
  };
  const schedule = () => {
    if (recalls.size + responses.size === 1) later(send);
  };
  return {
    recall(account, token, holders, mark, tokenOnly) {
      const before = recalls.size;
      const known = recalls.get(`${account} ${token}`);
      const all = [...new Set([...(known?.[2] ?? []), ...holders])];
      const only = tokenOnly && known?.[4] !== 0 ? 1 : 0;
      recalls.set(`${account} ${token}`, [account, token, all, mark, only]);
      if (recalls.size > before) schedule();
    },
    answer(account, to, mark) {
      const before = responses.size;
      responses.set(`${account} ${to}`, [account, to, mark]);
      if (responses.size > before) schedule();
    },
  };
}

export interface LeaseMessageListeners {
  readonly recalled: (account: number, token: number, by: number, mark: number, tokenOnly: boolean) => void;
  readonly answered: (account: number, by: number, mark: number) => void;
  readonly budgetRecalled?: (budget: number, by: number, mark: number) => void;
  readonly budgetAnswered?: (budget: number, by: number, mark: number) => void;
}

/** @param text as another node, or this one, has sent it. */
export function received(
  text: string,
  own: number,
  { recalled, answered: onResponse, budgetRecalled, budgetAnswered }: LeaseMessageListeners,
): void {
  let message: NodeMessage;
  try {
    message = JSON.parse(text) as NodeMessage;
  } catch {
    return;
  }
  if (message.from === own) return;
  for (const [account, token, holders, mark, tokenOnly] of message.recall ?? [])
    if (holders.includes(own)) recalled(account, token, message.from, mark, tokenOnly === 1);
  for (const [account, to, mark] of message.answer ?? []) if (to === own) onResponse(account, message.from, mark);
  for (const [budget, , holders, mark] of message.budgetRecall ?? [])
    if (holders.includes(own)) budgetRecalled?.(budget, message.from, mark);
  for (const [budget, to, mark] of message.budgetAnswer ?? [])
    if (to === own) budgetAnswered?.(budget, message.from, mark);
}
