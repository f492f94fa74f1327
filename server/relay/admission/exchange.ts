/** What is known about a request once it has been let in. */

import type { Inquiry } from '../intake/inquiry.ts';
import type { Charge } from './charge.ts';
import type { Plan } from './plan.ts';

/** After `plan`, with its money held: all that the attempts and the answer need. */
export interface Exchange {
  readonly inquiry: Inquiry;
  readonly plan: Plan;
  readonly charge: Charge;
}
