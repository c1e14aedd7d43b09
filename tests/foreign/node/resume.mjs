// Drives an AG-UI server with the released web client through interrupts, as CopilotKit does: all that are open get an
// answer, and the agent runs again with them. Reads { url, text, payload, rounds } from stdin and writes
// { asked, messages, error } to stdout.
import { HttpAgent } from "@ag-ui/client";
import { readFileSync } from "node:fs";

const { url, text, payload, rounds } = JSON.parse(readFileSync(0, "utf8"));
const agent = new HttpAgent({ url });
const asked = [];
let error = null;

try {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  await agent.runAgent();
  for (let round = 0; round < rounds && agent.pendingInterrupts?.length; round += 1) {
    const open = agent.pendingInterrupts;
    asked.push(open.map((it) => it.message ?? it.id));
    await agent.runAgent({ resume: open.map(({ id }) => ({ interruptId: id, status: "resolved", payload })) });
  }
} catch (failure) {
  error = String(failure);
}
process.stdout.write(JSON.stringify({ asked, messages: agent.messages, error }));
