import type { CommandRow } from '../../command.ts';

export const nodeRows: readonly CommandRow[] = [
  {
    name: 'node list',
    zh: '共同服务本站点的机器',
    en: 'the machines that serve this site together',
    examples: ['node list', 'node list --json'],
    load: async () => (await import('./node.ts')).list,
  },
  {
    name: 'node drain',
    argument: '<name>',
    zh: '让节点处理完现有请求、交还额度后退出',
    en: 'let a node finish, give back its leases and end',
    examples: ['node drain alpha-1f3a', 'node drain alpha-1f3a --yes'],
    load: async () => (await import('./node.ts')).drain,
  },
  {
    name: 'node forget',
    argument: '<name>',
    zh: '从列表移除已离开的节点',
    en: 'take a node that is gone off the list',
    flags: [
      {
        flag: '--write-off',
        zh: '其磁盘已丢失：放弃其中可能尚未入账的账单',
        en: 'its disk is lost: give up the bills that it may still hold',
      },
      {
        flag: '--when-settled',
        zh: '同上，但等其未结束的请求到期结算之后（最多十分钟）',
        en: 'the same, once its open requests have had their time (ten minutes at most)',
      },
    ],
    examples: [
      'node forget alpha-1f3a',
      'node forget alpha-1f3a --when-settled',
      'node forget alpha-1f3a --write-off --yes',
    ],
    load: async () => (await import('./node.ts')).removeNode,
  },
];
