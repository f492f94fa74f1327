/** Stage 3: the model allowed, the plan made, limits kept and money held: what every paid request passes, whatever it asks for. */
import { AppError } from '../../contract/errors.ts';
import { callerReason, reasonText } from '../../contract/storage-reasons.ts';
import type { Ledger } from '../../ledger/commands.ts';
import { Feature } from '../../routing/features.ts';
import type { Authorise } from '../intake/authorise.ts';
import type { Inquiry, Principal } from '../intake/inquiry.ts';
import { countedTexts, leastCount, sumOf } from '../intake/prompt.ts';
import { shortage } from '../shared/shortage.ts';
import { affordableOutput, asksForThought, leastWorth, shorten } from './answer-limit.ts';
import type { Balances } from './balances.ts';
import { checkWords } from './blocked-words.ts';
import { type ChargeDeps, createCharge } from './charge.ts';
import type { TokenCounter } from './counting/counter.ts';
import type { Exchange } from './exchange.ts';
import type { Gates } from './gate.ts';
import { type Borrowing, borrowerOf, elsewhere, isTakenBalance, mostLoans, toldFor } from './lender.ts';
import { type Admission, type Limits, unlimited } from './limits.ts';
import { estimate, holdFor } from './meter.ts';
import type { Plan } from './plan.ts';
import { makePlan, type PlanDeps } from './plan.ts';

export interface AdmitDeps {
  readonly plan: PlanDeps;
  readonly charge: ChargeDeps;
  readonly ledger: Ledger;
  readonly balances: Balances;
  readonly limits: Limits;
  readonly gates: Pick<Gates, 'withdraw'>;
  readonly counter: TokenCounter;
  /** @throws AppError model_not_allowed. */
  readonly allowModel: Authorise['allowModel'];
}

/**
 * At once where the most that the request can cost fits the balance; a prompt whose bound does not fit is counted first.
 * @throws AppError model_not_allowed, sensitive_words, storage_unavailable, channel_*, model_price_unset, rate_limited, *_exhausted.
 */
export type Admit = (
  inquiry: Inquiry,
  principal: Principal,
  /** As it passed the gate; null = the operator's own test, charged to nobody. A request that is refused is withdrawn. */
  admission: Admission | null,
) => Exchange | Promise<Exchange>;

/** A request that passed the gate, until its money is held. */
interface Entering {
  readonly inquiry: Inquiry;
  readonly principal: Principal;
  readonly admission: Admission;
}

/** Prompts are counted where their bound takes more than this part of what there is. */
const countedShare = 1 / 16;
/** Other models make more tokens of the same text than the encodings that are counted with. */
const otherEncodings = 1.5;

/** Requests that each hold so small a part of what is left never take all of it. */
const plenty = 64;

/** A disk that was freed is noticed within a second. */
const retrySeconds = 5;

export function createAdmit(deps: AdmitDeps): Admit {
  const { balances } = deps;
  const { accounts, open, tenure } = balances.money;
  const { settings } = deps.plan.state;

  /** What a request may cost at most for the balance, and the key's limit, to let it in. */
  const purseRoom = (inquiry: Inquiry, { user, token }: Principal, plan: Plan): number => {
    const { overcommit, house } = plan;
    const tokenId = token?.id ?? 0;
    const spare = balances.spare(user.id, tokenId, overcommit, house);
    return isStaged(inquiry, plan) ? spare : Math.min(spare, balances.available(user.id, tokenId, house));
  };
  const roomFor = (inquiry: Inquiry, principal: Principal, plan: Plan): number => {
    const { token } = principal;
    const room = purseRoom(inquiry, principal, plan);
    return token === null ? room : Math.min(room, deps.limits.room(token));
  };

  /** A stream that may cost more than there is begins with what there is. */
  const beginsWithin = (inquiry: Inquiry, { user, token }: Principal, plan: Plan): boolean =>
    !isStaged(inquiry, plan) || leastFor(plan, inquiry) <= balances.available(user.id, token?.id ?? 0, plan.house);

  /** @throws AppError limit_tpm, token_budget_*, *_exhausted. */
  const enter = ({ inquiry, principal, admission }: Entering, whole: Plan): Exchange => {
    const plan = isStaged(inquiry, whole) ? begun(principal, whole) : whole;
    const epoch = tenure?.epoch() ?? 0;
    const row = begin(inquiry, principal, plan, { epoch, row: admission.row });
    try {
      take(principal, plan, row, admission);
      const facts = { inquiry, principal, plan, free: false, admission, row, epoch };
      return { inquiry, plan, charge: createCharge(deps.charge, facts) };
    } catch (error) {
      if (admission.row === 0) open.over(row);
      throw error;
    }
  };

  /** Where there is plenty, the whole is held at once: nothing has to be read along then to see what it costs so far. */
  const begun = ({ user, token }: Principal, whole: Plan): Plan => {
    const available = balances.available(user.id, token?.id ?? 0, whole.house);
    return whole.most * plenty <= available ? whole : staged(whole, settings().stake, available);
  };

  /** @param known number of the lease, and the row that the gate began. */
  const begin = (
    inquiry: Inquiry,
    { user, token, group }: Principal,
    plan: Plan,
    { epoch, row: known }: { readonly epoch: number; readonly row: number },
  ): number => {
    const { model, stream: streams } = inquiry;
    const facts = { model, streams, promptTokens: plan.promptTokens, house: plan.house, epoch };
    if (known !== 0) {
      open.read(known, facts);
      return known;
    }
    const tokenId = token?.id ?? 0;
    const row = open.begin({
      ...facts,
      ref: inquiry.requestId,
      group,
      user: accounts.user(user.id),
      token: tokenId === 0 ? 0 : accounts.token(tokenId),
      userId: user.id,
      tokenId,
      startedMs: inquiry.startedMs,
    });
    if (row === null) throw new AppError('storage_unavailable', { reason: reasonText('too_many'), seconds: 1 });
    return row;
  };

  /** Limits count quota; whoever is refused reads money. */
  const inMoney = <T>(admitted: () => T): T => {
    try {
      return admitted();
    } catch (error) {
      if (!(error instanceof AppError) || typeof error.params.need !== 'number') throw error;
      const { remain, need, ...rest } = error.params;
      throw new AppError(error.code, { ...rest, ...shortage(Number(remain), Number(need), settings()) }, error);
    }
  };

  /** @throws AppError limit_tpm, token_budget_*, *_exhausted. */
  const take = (principal: Principal, plan: Plan, row: number, admission: Admission): void => {
    const { promptTokens: tokens, estimate: size, hold, most, overcommit, house } = plan;
    const { user, token } = principal;
    inMoney(() => admission.reserve({ tokens, output: size.maxTokens, hold: most, row }));
    const held = balances.hold(user.id, token?.id ?? 0, hold, { most, overcommit, house, row });
    if (held.ok) return;
    admission.release();
    throw new AppError(
      held.who === 'user' ? 'user_exhausted' : 'token_exhausted',
      shortage(held.remain, hold, settings()),
    );
  };

  const enterShorter = (entering: Entering, plan: Plan, room: number): Exchange => {
    const { inquiry } = entering;
    const shorter = settings().passThrough ? null : shorten(inquiry, plan, room);
    if (shorter !== null) return enter({ ...entering, inquiry: shorter.inquiry }, shorter.plan);
    // Refused by whoever has too little: said with the least that would do.
    const least = leastFor(plan, inquiry);
    const need = least > room ? least : plan.most;
    return enter(entering, { ...plan, hold: need, most: need, held: plan.estimate.maxTokens });
  };

  /** What is done where there is less than is needed. */
  type Short<T> = (entering: Entering, plan: Plan, room: number) => T;

  const recount = async <T>(entering: Entering, plan: Plan, short: Short<T>) => {
    const { inquiry, principal } = entering;
    const texts = countedTexts(inquiry.prompt);
    const tokens = sumOf(await deps.counter.count(inquiry.model, texts));
    const counted =
      plan.estimate.answer?.model.countable === true ? tokens : Math.max(tokens * otherEncodings, leastCount(texts));
    const exact = estimate(inquiry, plan, counted);
    const closer = exact.hold < plan.most ? { ...plan, estimate: exact, hold: exact.hold, most: exact.hold } : plan;
    return balances.alone(principal.user.id, () => {
      const room = roomFor(inquiry, principal, closer);
      return closer.most <= room ? enter(entering, closer) : short(entering, closer, room);
    });
  };

  /** What there is must not change between the look and the hold. */
  const entered = <T extends Exchange | null>(
    entering: Entering,
    plan: Plan,
    short: Short<T>,
  ): Exchange | T | Promise<Exchange | T> => {
    const { inquiry, principal } = entering;
    const exchange = balances.alone(principal.user.id, () => {
      const room = roomFor(inquiry, principal, plan);
      const fits = plan.most <= room;
      const begins = beginsWithin(inquiry, principal, plan);
      if (fits && begins) return enter(entering, plan);
      const { texts, objects } = inquiry.prompt;
      const countable = texts.length + objects.length > 0 && plan.estimate.promptTokens > 1;
      const tight = holdFor(plan.estimate, 0) > room * countedShare || leastFor(plan, inquiry) > room;
      if (countable && (tight || !begins)) return 'uncounted';
      return fits ? enter(entering, plan) : short(entering, plan, room);
    });
    return exchange === 'uncounted' ? recount(entering, plan, short) : exchange;
  };

  /** Nobody is refused, or answered shorter, for what lies elsewhere and is to be had. */
  const borrowed = async (borrowing: Borrowing, entering: Entering, plan: Plan) => {
    const { inquiry, principal } = entering;
    const { most, house } = plan;
    // What is lent counts as often in what requests may cost together, and once in what they hold.
    const times = isStaged(inquiry, plan) ? plan.overcommit : 1;
    const room = () => Math.floor(purseRoom(inquiry, principal, plan) / times);
    for (let loans = 1; loans < mostLoans; loans++) {
      const loan = await borrowing.borrow(borrowerOf(principal, house), Math.ceil(most / times), room);
      try {
        // Another thread of this machine may have taken what was lent.
        const exchange = await entered(entering, plan, loan === 'lent' ? () => null : enterShorter);
        if (exchange !== null) return exchange;
      } catch (error) {
        if (isTakenBalance(loan, error)) continue;
        throw toldFor(loan, error, deps.charge.now() / 1000);
      }
    }
    throw elsewhere();
  };

  const admitted = (entering: Entering, plan: Plan): Exchange | Promise<Exchange> => {
    const { borrowing } = deps.charge;
    if (borrowing === null) return entered(entering, plan, enterShorter);
    const borrow = () => borrowed(borrowing, entering, plan);
    if (purseRoom(entering.inquiry, entering.principal, plan) < plan.most) return borrow();
    const exchange = entered(entering, plan, () => null);
    return exchange instanceof Promise ? exchange.then((later) => later ?? borrow()) : (exchange ?? borrow());
  };

  const checked = (inquiry: Inquiry, principal: Principal, free: boolean): Plan => {
    deps.allowModel(principal, inquiry.model);
    checkWords(settings(), inquiry.prompt);
    const storage = deps.ledger.healthy();
    if (!storage.ok)
      throw new AppError('storage_unavailable', { reason: callerReason(storage.reason), seconds: retrySeconds });
    return makePlan(deps.plan, inquiry, principal, free);
  };

  const paid = (entering: Entering): Exchange | Promise<Exchange> => {
    const { inquiry, principal, admission } = entering;
    const planned = checked(inquiry, principal, false);
    const { overcommit, overrunLine } = settings();
    const exact = overcommit === 1 || balances.overrunOf(principal.user.id) >= overrunLine;
    const plan = exact ? planned : { ...planned, overcommit };
    const counted = admission.site?.reserve(plan.promptTokens, plan.estimate.maxTokens) ?? null;
    return counted === null ? admitted(entering, plan) : counted.then(() => admitted(entering, plan));
  };

  return (inquiry, principal, admission) => {
    if (admission === null) {
      const plan = { ...checked(inquiry, principal, true), hold: 0, most: 0 };
      const facts = { inquiry, principal, plan, free: true, admission: unlimited, row: 0, epoch: tenure?.epoch() ?? 0 };
      return { inquiry, plan, charge: createCharge(deps.charge, facts) };
    }
    const refused = (error: unknown): never => {
      deps.gates.withdraw(admission);
      throw error;
    };
    try {
      const exchange = paid({ inquiry, principal, admission });
      return exchange instanceof Promise ? exchange.catch(refused) : exchange;
    } catch (error) {
      return refused(error);
    }
  };
}

/** Quota of the shortest answer that is worth asking for. */
const leastFor = ({ estimate: size, most }: Plan, { body }: Inquiry): number =>
  size.answer === null ? most : holdFor(size, leastWorth(size, body) * size.answer.choices);

/** Whether what is held may grow with what is delivered: all that is paid for is seen, and ends when it is cut. */
const isStaged = ({ stream, body, prompt }: Inquiry, { overcommit, estimate: { answer }, route }: Plan): boolean =>
  overcommit > 1 &&
  stream &&
  answer !== null &&
  !answer.model.thinks &&
  route.offers.stopOnCancel &&
  !((prompt.features & Feature.thought) !== 0 && asksForThought(body));

/** Begins with a modest hold; what it may cost at most is counted beside it. */
function staged(plan: Plan, stake: number, available: number): Plan {
  const { estimate: size } = plan;
  const modest = Math.min(size.maxTokens, stake * (size.answer?.choices ?? 1));
  const hold = holdFor(size, modest);
  if (hold <= available) return { ...plan, hold, held: modest };
  const less = affordableOutput(size, available);
  // Nothing left to begin with: the wallet says so.
  return less === 0 ? { ...plan, hold, held: modest } : { ...plan, hold: holdFor(size, less), held: less };
}
