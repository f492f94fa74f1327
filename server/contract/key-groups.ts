/** Which groups a key uses, as its field `group` says: one, several in order (`vip,default`), the site's order (`auto`) or the cheapest first (`cheapest`). */

/** The order that the option AutoGroups has. As new-api calls it. */
export const autoGroups = 'auto';
export const cheapestGroups = 'cheapest';
/** Of one key. */
export const maxKeyGroups = 16;

/** What decides about groups besides the key. */
export interface GroupRules {
  /** Groups that have a price. */
  readonly groupRatios: { has(group: string): boolean };
  /** Groups that users may choose besides their own. */
  readonly usableGroups: Iterable<string> & { has(group: string): boolean };
  /** In the site's order. */
  readonly autoGroups: readonly string[];
  /** Factor of a group's prices for users of another. */
  ratioOf(userGroup: string, group: string): number;
}

/** @returns each name once, in order. */
export const namedGroups = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
];

/** Whether the field says more than one name, where no group is called like one of the words. */
export const saysOrder = (text: string): boolean =>
  text.includes(',') || text === autoGroups || text === cheapestGroups;

/** Whether the field says more than one name; a group that is called like a word here is meant by it. */
export const isGroupOrder = (text: string, { groupRatios }: Pick<GroupRules, 'groupRatios'>): boolean =>
  saysOrder(text) && (text.includes(',') || !groupRatios.has(text));

/** Whether a user may use a group besides that of the key. */
export const mayUseGroup = (
  { groupRatios, usableGroups }: Pick<GroupRules, 'groupRatios' | 'usableGroups'>,
  userGroup: string,
  group: string,
): boolean => group === userGroup || (usableGroups.has(group) && groupRatios.has(group));

/** @param text says an order. @returns groups that the user may use, the first one tried first; none = there is none of them. */
export function groupOrder(text: string, userGroup: string, rules: GroupRules): readonly string[] {
  if (text === cheapestGroups) {
    const all = [...new Set([userGroup, ...rules.usableGroups])].filter((name) => mayUseGroup(rules, userGroup, name));
    const ratioOf = new Map(all.map((name) => [name, rules.ratioOf(userGroup, name)]));
    return all.sort((one, other) => (ratioOf.get(one) ?? 1) - (ratioOf.get(other) ?? 1) || (one < other ? -1 : 1));
  }
  const named = text === autoGroups ? rules.autoGroups : namedGroups(text);
  return named.filter((name) => mayUseGroup(rules, userGroup, name));
}
