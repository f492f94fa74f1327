import type { CommandRow, Flag } from '../../command.ts';

const file: Flag = { flag: '-f, --file <path>', zh: '文件、目录或 -', en: 'file, directory or -' };
const prune: Flag = {
  flag: '--prune',
  zh: '删除同一标签（label）下文件中没有的对象',
  en: "delete what has the file's label and is not in it",
};

export const provisioningRows: readonly CommandRow[] = [
  {
    name: 'apply',
    zh: '应用声明式配置（原子操作：全部成功或全部不改）',
    en: 'apply a declarative file, all or nothing',
    flags: [
      file,
      prune,
      { flag: '--dry-run', zh: '只显示计划', en: 'show the plan only' },
      { flag: '--exit-code', zh: '有修改时退出码 10', en: 'exit 10 when there were changes' },
    ],
    examples: ['apply -f site.yaml', 'apply -f site.yaml --prune --dry-run'],
    load: async () => (await import('./provisioning.ts')).apply,
  },
  {
    name: 'diff',
    zh: '预览声明式配置的变更；有差异时退出码为 10',
    en: 'show what a file would change; exits 10 on differences',
    flags: [file, prune],
    examples: ['diff -f site.yaml', 'diff -f - --json < site.yaml'],
    load: async () => (await import('./provisioning.ts')).diff,
  },
  {
    name: 'export',
    zh: '导出声明式配置，机密以引用表示',
    en: 'write the site as a file, secrets as references',
    flags: [
      {
        flag: '--balances',
        zh: '包括用户余额（新用户的起始余额）',
        en: 'include balances of users; new users start with them',
      },
    ],
    examples: ['export > site.yaml', 'export --balances --json'],
    load: async () => (await import('./provisioning.ts')).exportSite,
  },
];
