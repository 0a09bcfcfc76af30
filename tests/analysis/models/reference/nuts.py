import os, json
import numpy as np, pandas as pd, numpyro, jax, jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
names = ["Qi-2019", "Select & Forget", "regularized", "ground truth"]
d = pd.read_csv("/tmp/w/mixed-trials.csv")
c = np.array([names.index(x) for x in d["condition"]]); p = pd.factorize(d["participant_id"])[0]; i = np.unique(d["item_id"], return_inverse=True)[1]
y = (d["rated_correct"].astype(float)).to_numpy()
def model(by):
    b0 = numpyro.sample("b0", dist.Normal(0, 2)); b = numpyro.sample("b", dist.Normal(0, 2**.5).expand([4]))
    ls = numpyro.sample("ls", dist.Normal(0, 1).expand([2 + by]))
    u = numpyro.sample("u", dist.Normal(0, 1).expand([40])); v = numpyro.sample("v", dist.Normal(0, 1).expand([25]))
    eta = b0 + b[c] + jnp.exp(ls[0]) * u[p] + jnp.exp(ls[1]) * v[i]
    if by:
        w = numpyro.sample("w", dist.Normal(0, 1).expand([100])); eta = eta + jnp.exp(ls[2]) * w[i * 4 + c]
    numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)
out = {}
for by in (0, 1):
    m = MCMC(NUTS(model, target_accept_prob=.9), num_warmup=500, num_samples=3000, num_chains=4, chain_method="vectorized", progress_bar=False)
    m.run(jax.random.PRNGKey(1), by)
    s = m.get_samples(); g = m.get_samples(group_by_chain=True)
    r = {}
    for k in (1, 2, 3):
        x = np.asarray(s["b"][:, k] - s["b"][:, 0]); gx = np.asarray(g["b"][:, :, k] - g["b"][:, :, 0])
        r[names[k]] = dict(mean=float(x.mean()), sd=float(x.std()), low=float(np.quantile(x, .025)), high=float(np.quantile(x, .975)), above=float((x > 0).mean()), n_eff=float(numpyro.diagnostics.effective_sample_size(gx)), r_hat=float(numpyro.diagnostics.split_gelman_rubin(gx)))
    r["sds"] = np.exp(np.asarray(s["ls"])).mean(0).tolist()
    out["items within conditions" if by else "plain"] = r
    print(json.dumps(out), flush=True)
json.dump(out, open("/tmp/w/mixed-nuts.json", "w"), indent=1)
