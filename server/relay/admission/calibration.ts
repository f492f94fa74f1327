/**
 * How many more tokens a model makes of a prompt than the encodings that are counted with: learned from what trusted upstreams
 * reported, for what a request holds, never for the most that it may cost. Callers write the texts that it is learned from, so none
 * of them alone lowers it: a text that tokenizes badly raises it to where it stood before anything was known, and however many cheap
 * ones somebody sends, all that others were answered still counts but for one.
 */

/** Where nothing is known. No model is taken to make more, for beyond it the most that a request may cost is exact. */
export const mostPerCounted = 1.5;
const minAnswers = 200;
const minUsers = 5;
const percentile = 0.999;
/** Below it the frames that providers put around turns weigh more than words. */
const minCounted = 256;
/** Of one model. So many that the percentile leaves one out, and no more: one user alone dilutes nobody's. */
const answersKept = 1024;
/** Of one thread: with 1,024 answers of 12 bytes each some 3 MB. */
const modelsKept = 256;

/** Answers of one model, the oldest first. Where there is no room, who has most of them gives up his oldest: nobody pushes others out. */
class Answers {
  private readonly ratios = new Float64Array(answersKept);
  private readonly users = new Int32Array(answersKept);
  private count = 0;
  private readonly ofUsers = new Map<number, number>();
  private known: number | null = null;

  /** @param ratio reported tokens to counted ones. */
  add(userId: number, ratio: number): void {
    this.known = null;
    if (this.count === answersKept) this.drop(this.heaviest());
    this.ratios[this.count] = ratio;
    this.users[this.count++] = userId;
    this.ofUsers.set(userId, (this.ofUsers.get(userId) ?? 0) + 1);
  }

  get factor(): number {
    this.known ??= this.compute();
    return this.known;
  }

  private heaviest(): number {
    let found = 0;
    let most = 0;
    for (const [userId, count] of this.ofUsers) {
      if (count <= most) continue;
      most = count;
      found = userId;
    }
    return found;
  }

  /** The user's oldest. */
  private drop(userId: number): void {
    const at = this.users.indexOf(userId);
    this.ratios.copyWithin(at, at + 1, this.count);
    this.users.copyWithin(at, at + 1, this.count);
    this.count--;
    const left = (this.ofUsers.get(userId) ?? 0) - 1;
    if (left === 0) this.ofUsers.delete(userId);
    else this.ofUsers.set(userId, left);
  }

  private compute(): number {
    const { count, ofUsers } = this;
    if (count < minAnswers || ofUsers.size < minUsers) return mostPerCounted;
    const sorted = this.ratios.slice(0, count).sort();
    const ratio = sorted[Math.ceil(count * percentile) - 1] ?? mostPerCounted;
    return Math.min(mostPerCounted, Math.max(1, ratio));
  }
}

export class Calibration {
  /** By the model that served; the one that was used longest ago first. */
  private readonly models = new Map<string, Answers>();

  get size(): number {
    return this.models.size;
  }

  /** @returns by how much to multiply what is counted, from 1 to `mostPerCounted`. */
  factor(model: string): number {
    return this.models.get(model)?.factor ?? mostPerCounted;
  }

  /**
   * A trusted upstream reported what it read of a prompt that was counted.
   * @param counted tokens by our own encodings, all of the prompt. @param reported tokens of the prompt, cached ones included.
   */
  learn(model: string, userId: number, counted: number, reported: number): void {
    if (!(counted >= minCounted) || !(reported > 0) || !Number.isFinite(reported)) return;
    const known = this.models.get(model) ?? new Answers();
    known.add(userId, reported / counted);
    this.models.delete(model);
    this.models.set(model, known);
    if (this.models.size <= modelsKept) return;
    for (const oldest of this.models.keys()) {
      this.models.delete(oldest);
      return;
    }
  }
}
