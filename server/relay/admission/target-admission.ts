/** The limits of a request for a virtual model: those of its key and the key's group, and those of the group that the current target belongs to. */
import { noRow, type OpenRequest } from '../../billing/balances/open-requests.ts';
import type { RateUse } from '../../contract/snapshot.ts';
import type { Principal } from '../intake/parsed-request.ts';
import { type Admission, type Limits, type Requested, unlimited } from './limits.ts';
import { type SiteRates, type SiteVisit, tightest } from './site-rates.ts';

export interface TargetAdmissionCore {
  readonly limits: Limits;
  /** Where all machines of a site count together; null = each for itself. */
  readonly rates: SiteRates | null;
}

export class TargetAdmission implements Admission {
  /** Of the current target; null = it is in the key's group, or in one without limits. */
  private principal: Principal | null = null;
  /** The admission in the target's group. */
  private target: Admission = unlimited;
  /** The whole site has counted it there. */
  private visit: SiteVisit | null = null;
  private isOver = false;

  /** @param own counts the request in the limits of its key and the key's group. */
  constructor(
    private readonly core: TargetAdmissionCore,
    private readonly own: Admission,
    private readonly ownGroup: string,
  ) {}

  get open(): OpenRequest {
    return this.own.open;
  }

  /** Goes on to another target: it runs in the group of the one before no longer, where that is another. */
  aim(principal: Principal): void {
    const { group } = principal;
    const next = group === this.ownGroup || !this.core.limits.countsIn(group) ? null : principal;
    if (next?.group === this.principal?.group) return;
    this.leave(0, false);
    this.principal = next;
  }

  /** It was not let in for the target. */
  withdraw(): void {
    this.leaveTarget();
    this.visit?.rollBack();
    this.visit = null;
    this.principal = null;
  }

  reserveAtSite(requested: Requested): Promise<void> | null {
    const { own, core, principal, visit } = this;
    const first = own.reserveAtSite(requested);
    if (core.rates === null || principal === null) return first;
    return visit === null
      ? this.enterSite(core.rates, principal, first, requested)
      : both(first, visit.reserve(requested.tokens, requested.output ?? 0));
  }

  private async enterSite(
    rates: SiteRates,
    principal: Principal,
    first: Promise<void> | null,
    { tokens, output = 0 }: Requested,
  ): Promise<void> {
    await first;
    const visit = await rates.enterTarget(principal);
    if (visit === null) return;
    try {
      await visit.reserve(tokens, output);
    } catch (error) {
      visit.rollBack();
      throw error;
    }
    if (this.isOver) visit.rollBack();
    else this.visit = visit;
  }

  reserve(requested: Requested, open: OpenRequest = noRow): void {
    const { own, core, principal, visit } = this;
    own.reserve(requested, open);
    if (principal === null) return;
    const enters = this.target === unlimited;
    try {
      // A visit that is taken back here stays counted by the site: it may be let in after a wait.
      const site = visit === null ? undefined : { ...visit, rollBack: () => undefined };
      if (enters) this.target = core.limits.enterTarget(principal, { open, site });
      this.target.reserve(requested, open);
    } catch (error) {
      if (enters) this.leaveTarget();
      own.release();
      throw error;
    }
  }

  release(): void {
    this.leaveTarget();
    this.own.release();
  }

  turn(spent: number): void {
    this.own.turn(spent);
    this.target.turn(spent);
  }

  ended(tokens: number, success: boolean): void {
    this.isOver = true;
    this.leave(tokens, success);
    this.own.ended(tokens, success);
  }

  rates(): readonly RateUse[] {
    const inTarget = this.target.rates();
    return inTarget.length === 0 ? this.own.rates() : tightest([...this.own.rates(), ...inTarget]);
  }

  rollBack(): void {
    this.isOver = true;
    this.withdraw();
    this.own.rollBack();
  }

  private leave(tokens: number, success: boolean): void {
    const { target } = this;
    if (target === unlimited) this.visit?.rollBack();
    else target.ended(tokens, success);
    this.target = unlimited;
    this.visit = null;
  }

  private leaveTarget(): void {
    this.target.rollBack();
    this.target = unlimited;
  }
}

async function both(first: Promise<void> | null, second: Promise<void> | null): Promise<void> {
  await first;
  await second;
}
