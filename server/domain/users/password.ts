/** Password hashes: argon2id for new ones, bcrypt too for imported ones. */

export interface Passwords {
  hash(password: string): Promise<string>;
  /** False also for a hash that is none. */
  verify(password: string, hash: string): Promise<boolean>;
  /** False for a hash of a kind that new ones are not made of. */
  isCurrent(hash: string): boolean;
  /** A hash of no password, which takes as long to verify as a real one of the same cost. */
  readonly dummyHash: string;
}

export interface PasswordCost {
  /** KiB. */
  readonly memoryCost: number;
  readonly timeCost: number;
}

/** 32 bytes in the base64 of hashes. */
const unknownBytes = 'A'.repeat(43);

/** Memory and passes of the second option RFC 9106 recommends. */
const strongCost: PasswordCost = { memoryCost: 65_536, timeCost: 3 };

export const createPasswords = (cost: PasswordCost = strongCost): Passwords => ({
  hash: (password) => Bun.password.hash(password, { algorithm: 'argon2id', ...cost }),
  dummyHash: `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=1$${unknownBytes}$${unknownBytes}`,
  isCurrent: (hash) => hash.startsWith('$argon2id$'),
  verify: async (password, hash) => {
    try {
      return await Bun.password.verify(password, hash);
    } catch {
      return false;
    }
  },
});
