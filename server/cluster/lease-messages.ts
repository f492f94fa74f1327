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
}

export interface LeaseMessages {
  recall(account: number, token: number, holders: readonly number[], mark: number, tokenOnly: boolean): void;
  answer(account: number, to: number, mark: number): void;
}

export interface LeaseMessagesDeps {
  readonly wire: Pick<Wire, 'send'>;
  readonly epoch: () => number;
  /** Schedules the send of what was collected in this turn. */
  readonly later: (work: () => void) => void;
}

/** A message has room for so many, on a site of twenty nodes. */
const together = 50;

export function createLeaseMessages({ wire, epoch, later }: LeaseMessagesDeps): LeaseMessages {
  let recalls = new Map<string, Recall>();
  let responses = new Map<string, Answer>();
  let number = 0;
  const send = () => {
    const [recalled, idle] = [[...recalls.values()], [...responses.values()]];
    recalls = new Map();
    responses = new Map();
    const from = epoch();
    for (let at = 0; at < Math.max(recalled.length, idle.length); at += together)
      wire.send(
        JSON.stringify({
          from,
          number: ++number,
          recall: recalled.slice(at, at + together),
          answer: idle.slice(at, at + together),
        } satisfies NodeMessage),
      );
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
}

/** @param text as another node, or this one, has sent it. */
export function received(text: string, own: number, { recalled, answered: onResponse }: LeaseMessageListeners): void {
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
}
