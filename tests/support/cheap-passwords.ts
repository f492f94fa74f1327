/** Hashes as cheap as they may be while a command runs in this process: what a real one costs is tested by itself. */
const strong = Bun.password.hash;
const cheap = (password: Bun.StringOrBuffer) => strong(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });

let running = 0;

/** Files of one worker share their modules, so nothing stays behind. */
export async function withCheapPasswords<Result>(work: () => Promise<Result>): Promise<Result> {
  running++;
  Bun.password.hash = cheap;
  try {
    return await work();
  } finally {
    running--;
    if (running === 0) Bun.password.hash = strong;
  }
}
